// Package controlplane starts a real Kubernetes control plane for tests, on loopback: etcd and kube-apiserver, and on demand kube-controller-manager
// and kube-scheduler.
//
// # Usage
//
//	dir, err := controlplane.Assets("../kubebin", os.Stderr)
//	plane, err := controlplane.Start(dir)
//	defer plane.Stop()
//	controllers, err := plane.StartControllers()
//	defer controllers.Stop()
//
// A program that ends without Stop leaves etcd and kube-apiserver running; the others end with it on Linux.
//
// # Concurrency
//
// A Plane may be used from several goroutines; it is stopped by one.
package controlplane

import (
	"errors"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// A Plane is a running control plane.
type Plane struct {
	assets     string
	env        *envtest.Environment
	config     *rest.Config
	kubeconfig string
	dir        string // of all that it writes
}

// Start starts etcd and kube-apiserver from a directory of programs, and returns when the server is ready: after two to three seconds. Data
// is in memory where the system has a file system for that, and never synced.
func Start(assets string) (*Plane, error) {
	dir, err := os.MkdirTemp(memoryBacked(), "stagecraft-plane-")
	if err != nil {
		return nil, err
	}
	p := &Plane{assets: assets, dir: dir, env: &envtest.Environment{BinaryAssetsDirectory: assets}}
	p.env.ControlPlane.Etcd = &envtest.Etcd{DataDir: filepath.Join(dir, "etcd")}
	p.env.ControlPlane.Etcd.Configure().Set("unsafe-no-fsync", "true")
	p.env.ControlPlane.GetAPIServer().Configure().Append("disable-admission-plugins", "ServiceAccount")
	if err := os.Mkdir(p.env.ControlPlane.Etcd.DataDir, 0o700); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if _, err := p.env.Start(); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	if err := p.admin(); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// memoryBacked is a directory that is in memory, or "" for the default one.
func memoryBacked() string {
	const shm = "/dev/shm"
	if info, err := os.Stat(shm); err == nil && info.IsDir() {
		return shm
	}
	return ""
}

// admin makes the user that tests and controllers are.
func (p *Plane) admin() error {
	user, err := p.env.ControlPlane.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, &rest.Config{QPS: -1})
	if err != nil {
		return err
	}
	p.config = user.Config()
	text, err := user.KubeConfig()
	if err != nil {
		return err
	}
	p.kubeconfig = filepath.Join(p.dir, "kubeconfig")
	return os.WriteFile(p.kubeconfig, text, 0o600)
}

// Config returns the configuration of a client that may do everything, as fast as it can.
func (p *Plane) Config() *rest.Config { return rest.CopyConfig(p.config) }

// Kubeconfig returns the file of the same configuration, for programs.
func (p *Plane) Kubeconfig() string { return p.kubeconfig }

// Stop stops kube-apiserver and etcd and removes their data.
func (p *Plane) Stop() error { return errors.Join(p.env.Stop(), os.RemoveAll(p.dir)) }
