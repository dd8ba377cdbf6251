// Package controlplane starts a real Kubernetes control plane for tests, on loopback: etcd and
// kube-apiserver, and on demand kube-controller-manager and kube-scheduler.
//
// # Usage
//
//	dir, err := controlplane.Assets("../kubebin", os.Stderr)
//	plane, err := controlplane.Start(dir)
//	defer plane.Stop()
//	controllers, err := plane.StartControllers()
//	defer controllers.Stop()
//	err = plane.Kill(controlplane.APIServer)
//	err = plane.Restart(controlplane.APIServer)
//
// On Linux all processes end with the program that started them, even without Stop.
//
// # Concurrency
//
// A Plane may be used from several goroutines at once, except for Stop.
package controlplane

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// A Plane is a running control plane.
type Plane struct {
	assets     string
	env        *envtest.Environment
	config     *rest.Config
	kubeconfig string
	dir        string // for all data
	bin        string // for the scripts that start the servers

	mu        sync.Mutex
	restarted map[Server]*child
}

// startTimeout is how long a server may take to start on a busy machine.
const startTimeout = time.Minute

// Start starts etcd and kube-apiserver from a directory of programs, and returns when the API
// server is ready, after two to three seconds. Data is in memory if the system has a file system
// for that, and is never synced to disk.
func Start(assets string) (*Plane, error) {
	p := &Plane{assets: assets, env: &envtest.Environment{BinaryAssetsDirectory: assets}, restarted: map[Server]*child{}}
	if err := p.start(); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

func (p *Plane) start() (err error) {
	if p.dir, err = os.MkdirTemp(memoryBacked(), "stagecraft-plane-"); err != nil {
		return err
	}
	if p.bin, err = os.MkdirTemp("", "stagecraft-bin-"); err != nil {
		return err
	}
	etcd := &envtest.Etcd{DataDir: filepath.Join(p.dir, "etcd"), StartTimeout: startTimeout}
	if err := os.Mkdir(etcd.DataDir, 0o700); err != nil {
		return err
	}
	if etcd.Path, err = p.script(Etcd); err != nil {
		return err
	}
	etcd.Configure().Set("unsafe-no-fsync", "true")
	p.env.ControlPlane.Etcd = etcd
	server := p.env.ControlPlane.GetAPIServer()
	server.StartTimeout = startTimeout
	if server.Path, err = p.script(APIServer); err != nil {
		return err
	}
	server.Configure().Append("disable-admission-plugins", "ServiceAccount")
	if _, err := p.env.Start(); err != nil {
		return err
	}
	return p.admin()
}

// memoryBacked is a directory in memory, or "" for the default directory.
func memoryBacked() string {
	const shm = "/dev/shm"
	if info, err := os.Stat(shm); err == nil && info.IsDir() {
		return shm
	}
	return ""
}

// admin creates the user that tests and controllers use.
func (p *Plane) admin() error {
	user, err := p.env.ControlPlane.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, &rest.Config{QPS: -1})
	if err != nil {
		return err
	}
	p.config = user.Config()
	p.config.WarningHandler = rest.NoWarnings{}
	text, err := user.KubeConfig()
	if err != nil {
		return err
	}
	p.kubeconfig = filepath.Join(p.dir, "kubeconfig")
	return os.WriteFile(p.kubeconfig, text, 0o600)
}

// Config returns a client configuration with all permissions and no rate limit.
func (p *Plane) Config() *rest.Config { return rest.CopyConfig(p.config) }

// Kubeconfig returns a file with the same configuration, for programs.
func (p *Plane) Kubeconfig() string { return p.kubeconfig }

// Program returns the path of a program in the directory of the servers, such as kubectl. The
// program need not exist: directories of setup-envtest have fewer.
func (p *Plane) Program(name string) string { return filepath.Join(p.assets, name) }

// Stop stops kube-apiserver and then etcd, and removes their data. Without etcd, kube-apiserver
// would not end.
func (p *Plane) Stop() error {
	return errors.Join(p.stopRestarted(APIServer), p.env.Stop(), p.stopRestarted(Etcd), os.RemoveAll(p.dir), os.RemoveAll(p.bin))
}
