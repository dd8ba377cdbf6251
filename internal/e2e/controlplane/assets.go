package controlplane

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
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
	ask := os.Getenv("STAGECRAFT_E2E") == "1"
	args := []string{"run", ".", "-find"}
	if ask {
		args = args[:2]
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = kubebin
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	if ask {
		cmd.Stderr = log
	}
	out, err := cmd.Output()
	switch {
	case err == nil:
		return strings.TrimSpace(string(out)), nil
	case ask:
		return "", fmt.Errorf("building the control plane: %w", err)
	}
	return "", ErrNoAssets
}
