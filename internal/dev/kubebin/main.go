// Command kubebin builds the programs of a Kubernetes control plane from the Go module proxy, once,
// and prints the directory they are in.
//
//	go run . [-find] [etcd] [kube-apiserver] [kube-controller-manager] [kube-scheduler] [kubectl] [e2e.test]
//
// Without names it is about all of them but e2e.test, which has the conformance tests of Kubernetes
// and is built only if it is named. What is there already is not built again. With -find
// nothing is built, and a program that is not there is an error. Run it in its own directory: the
// versions are those of the go.mod beside it, which pins k8s.io/kubernetes and its 33 staging
// modules, and therefore must not take part in a go.work.
//
// The directory is stagecraft/kubebin/VERSION-HASH in the user's cache directory; the hash is that
// of the files of this module and the platform. On two cores with empty caches etcd and
// kube-apiserver take about 200 seconds, the others 70 more; e2e.test takes 450 after them.
package main

import (
	"crypto/sha256"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

var (
	//go:embed go.mod
	goMod string
	//go:embed go.sum
	goSum string
	//go:embed main.go
	source string
)

// A program is built from a package, or from the tests of a package.
type program struct{ name, pkg string }

// programs are those that are built, in the order in which they are of use.
var programs = []program{
	{"etcd", "go.etcd.io/etcd/server/v3"},
	{"kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"},
	{"kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"},
	{"kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"},
	{"kubectl", "k8s.io/kubernetes/cmd/kubectl"},
	{"e2e.test", "k8s.io/kubernetes/test/e2e"},
}

// isTest reports whether a program is made of the tests of its package, as go test -c names it.
func (p program) isTest() bool { return strings.HasSuffix(p.name, ".test") }

// asked reports whether a program is one of those that are named.
func (p program) asked(names []string) bool {
	return slices.Contains(names, p.name) || len(names) == 0 && !p.isTest()
}

func main() {
	find := flag.Bool("find", false, "build nothing")
	flag.Parse()
	dir, err := run(*find, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubebin:", err)
		os.Exit(1)
	}
	fmt.Println(dir)
}

func run(find bool, names []string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	version, err := kubernetesVersion(goMod)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "stagecraft", "kubebin", version+"-"+key())
	for _, name := range names {
		if !slices.ContainsFunc(programs, func(p program) bool { return p.name == name }) {
			return "", fmt.Errorf("unknown program %q", name)
		}
	}
	for _, p := range programs {
		if !p.asked(names) {
			continue
		}
		if err := p.provide(dir, version, find); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// key tells builds apart.
func key() string {
	h := sha256.New()
	for _, text := range []string{goMod, goSum, source, runtime.GOOS, runtime.GOARCH} {
		_, _ = io.WriteString(h, text+"\x00")
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:6])
}

var required = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v\S+)`)

// kubernetesVersion reads the version that a go.mod requires.
func kubernetesVersion(mod string) (string, error) {
	m := required.FindStringSubmatch(mod)
	if m == nil {
		return "", fmt.Errorf("go.mod does not require k8s.io/kubernetes")
	}
	return m[1], nil
}

// provide builds one program unless it is there. It appears at once and whole, whoever else builds
// it at the same time.
func (p program) provide(dir, version string, find bool) error {
	path := filepath.Join(dir, p.name)
	if _, err := os.Stat(path); err == nil || find {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	fresh := fmt.Sprintf("%s.%d", path, os.Getpid())
	defer os.Remove(fresh)
	fmt.Fprintf(os.Stderr, "kubebin: building %s for Kubernetes %s\n", p.name, version)
	build := []string{"build"}
	if p.isTest() {
		build = []string{"test", "-c"}
	}
	cmd := exec.Command("go", append(build, "-buildvcs=false", "-trimpath", "-ldflags", linkerFlags(version), "-o", fresh, p.pkg)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building %s: %w", p.pkg, err)
	}
	return os.Rename(fresh, path)
}

// linkerFlags make a program say its version, without which it says that it is v0.0.0-master.
func linkerFlags(version string) string {
	const where = "k8s.io/component-base/version."
	number := strings.Split(strings.TrimPrefix(version, "v"), ".")
	flags := []string{"-s", "-w"}
	for _, v := range []string{"gitVersion=" + version, "gitMajor=" + number[0], "gitMinor=" + number[1], "gitTreeState=clean"} {
		flags = append(flags, "-X", where+v)
	}
	return strings.Join(flags, " ")
}
