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

// ErrNoAssets is returned by [Assets] if the programs do not exist and STAGECRAFT_E2E does not ask
// to build them.
var ErrNoAssets = errors.New("no control plane: set KUBEBUILDER_ASSETS to a directory with etcd and kube-apiserver, or STAGECRAFT_E2E=1 to build one")

// Assets returns the directory of the programs: KUBEBUILDER_ASSETS, or else a directory in the
// user's cache. If STAGECRAFT_E2E is 1 the module in the directory kubebin builds missing programs
// there; the build writes its messages to log.
func Assets(kubebin string, log io.Writer) (string, error) {
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		return dir, nil
	}
	return programDir(kubebin, log, ErrNoAssets)
}

// ErrNoKwok is returned by [Kwok] if kwok does not exist and STAGECRAFT_E2E does not ask to build
// it.
var ErrNoKwok = errors.New("no kwok: set STAGECRAFT_E2E=1 to build it")

// Kwok returns the program kwok in the user's cache directory. If STAGECRAFT_E2E is 1 the module in
// the directory kwokbin builds it if it is missing.
func Kwok(kwokbin string, log io.Writer) (string, error) {
	dir, err := programDir(kwokbin, log, ErrNoKwok)
	return filepath.Join(dir, "kwok"), err
}

// ErrNoTests is returned by [Tests] if they do not exist and STAGECRAFT_E2E does not ask to build
// them.
var ErrNoTests = errors.New("no e2e.test: set STAGECRAFT_E2E=1 to build it")

// Tests returns the program with the end-to-end tests of Kubernetes in the user's cache directory.
// If STAGECRAFT_E2E is 1 the module in the directory kubebin builds it if it is missing.
func Tests(kubebin string, log io.Writer) (string, error) {
	const name = "e2e.test"
	dir, err := programDir(kubebin, log, ErrNoTests, name)
	return filepath.Join(dir, name), err
}

// programDir asks a module that builds programs for their directory. Without names it is about all
// that the module builds by default. If they do not exist and must not be built, it returns the
// error missing.
func programDir(module string, log io.Writer, missing error, names ...string) (string, error) {
	ask := os.Getenv("STAGECRAFT_E2E") == "1"
	args := []string{"run", ".", "-find"}
	if ask {
		args = args[:2]
	}
	cmd := exec.Command("go", append(args, names...)...)
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
