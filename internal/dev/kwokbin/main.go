// Command kwokbin builds kwok, the peer that stagecraft is measured and compared with, from the Go
// module proxy, once, and prints the directory it is in.
//
//	go run . [-find]
//
// With -find nothing is built, and it is an error if kwok is not there. Run it in its own
// directory: the version is that of the go.mod beside it. That module is not the one of
// internal/dev/bench, which links parts of kwok beside stagecraft: here kwok has the libraries that
// it was released with, and nothing of ours.
//
// The directory is stagecraft/kwokbin/VERSION-HASH in the user's cache directory; the hash is that
// of the files of this module and the platform. The build takes a minute or two on two cores.
package main

import (
	"crypto/sha256"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
)

var (
	//go:embed go.mod
	goMod string
	//go:embed go.sum
	goSum string
	//go:embed main.go
	source string
)

func main() {
	find := flag.Bool("find", false, "build nothing")
	flag.Parse()
	dir, err := run(*find)
	if err != nil {
		fmt.Fprintln(os.Stderr, "kwokbin:", err)
		os.Exit(1)
	}
	fmt.Println(dir)
}

func run(find bool) (string, error) {
	version, err := required(goMod)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "stagecraft", "kwokbin", version+"-"+key())
	program := filepath.Join(dir, "kwok")
	if _, err := os.Stat(program); err == nil || find {
		return dir, err
	}
	return dir, build(program, version)
}

// key tells builds apart.
func key() string {
	text := fmt.Sprintf("%q", []string{goMod, goSum, source, runtime.GOOS, runtime.GOARCH})
	return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:12]
}

var requirement = regexp.MustCompile(`(?m)^(?:require)?\s*sigs\.k8s\.io/kwok (v\S+)`)

// required reads the version of kwok that a go.mod requires.
func required(mod string) (string, error) {
	m := requirement.FindStringSubmatch(mod)
	if m == nil {
		return "", fmt.Errorf("go.mod does not require sigs.k8s.io/kwok")
	}
	return m[1], nil
}

// build makes the program appear at once and whole, whoever else builds it at the same time.
func build(program, version string) error {
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		return err
	}
	fresh := fmt.Sprintf("%s.%d", program, os.Getpid())
	defer os.Remove(fresh)
	fmt.Fprintln(os.Stderr, "kwokbin: building kwok", version)
	flags := "-s -w -X sigs.k8s.io/kwok/pkg/consts.Version=" + version
	cmd := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags", flags, "-o", fresh, "sigs.k8s.io/kwok/cmd/kwok")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building kwok: %w", err)
	}
	return os.Rename(fresh, program)
}
