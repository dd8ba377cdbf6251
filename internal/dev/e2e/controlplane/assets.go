package controlplane

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrNoAssets is returned by [Assets] if the programs are not there and nobody asked for them to be built.
var ErrNoAssets = errors.New("no control plane: set KUBEBUILDER_ASSETS to a directory with etcd and kube-apiserver, or STAGECRAFT_E2E=1 to build one")

// Assets returns the directory of the programs: that of KUBEBUILDER_ASSETS, else the one in the user's cache directory, where the
// module in the directory kubebin builds them if STAGECRAFT_E2E is 1. What the build says goes to log.
func Assets(kubebin string, log io.Writer) (string, error) {
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		return dir, nil
	}
	return programDir(kubebin, log, ErrNoAssets)
}

// ErrNoKwok is returned by [Kwok] if kwok is not there and nobody asked for it to be built.
var ErrNoKwok = errors.New("no kwok: set STAGECRAFT_E2E=1 to build it")

// Kwok returns the program kwok in the user's cache directory, where the module in the directory kwokbin builds it if STAGECRAFT_E2E is 1.
func Kwok(kwokbin string, log io.Writer) (string, error) {
	dir, err := programDir(kwokbin, log, ErrNoKwok)
	return filepath.Join(dir, "kwok"), err
}

// built asks a module of programs for their directory. If they are not there and not to be built, the error is missing.
func programDir(module string, log io.Writer, missing error) (string, error) {
	ask := os.Getenv("STAGECRAFT_E2E") == "1"
	args := []string{"run", ".", "-find"}
	if ask {
		args = args[:2]
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	if ask {
		cmd.Stderr = log
	}
	out, err := cmd.Output()
	switch {
	case err == nil:
		return strings.TrimSpace(string(out)), nil
	case ask:
		return "", fmt.Errorf("building in %s: %w", module, err)
	}
	return "", missing
}
