package envtest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/files"
)

// The names of the programs in the directory.
const (
	apiserverName = "kube-apiserver"
	etcdName      = "etcd"
	kubectlName   = "kubectl"
)

// IsProgram reports whether a program was started under the name of one of the stand-ins, by its first
// argument.
func IsProgram(arg0 string) bool {
	return slices.Contains([]string{apiserverName, etcdName}, programName(arg0))
}

func programName(arg0 string) string { return strings.TrimSuffix(filepath.Base(arg0), ".exe") }

// Install makes a directory for KUBEBUILDER_ASSETS: it copies the running program, which has to call
// [Run] under the names etcd and kube-apiserver, and links the kubectl of the PATH. It replaces what is
// there under these names. It reports whether the directory has a kubectl, which envtest needs for
// ControlPlane.KubeCtl only.
func Install(dir string) (hasKubectl bool, err error) {
	program, err := os.Executable()
	if err != nil {
		return false, fmt.Errorf("envtest: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false, fmt.Errorf("envtest: %w", err)
	}
	suffix := filepath.Ext(program) // .exe, or of a test
	if suffix != ".exe" {
		suffix = ""
	}
	server := filepath.Join(dir, apiserverName+suffix)
	if err := copyProgram(server, program); err != nil {
		return false, fmt.Errorf("envtest: %w", err)
	}
	if err := link(apiserverName+suffix, filepath.Join(dir, etcdName+suffix)); err != nil {
		if err := copyProgram(filepath.Join(dir, etcdName+suffix), program); err != nil {
			return false, fmt.Errorf("envtest: %w", err)
		}
	}
	return linkKubectl(filepath.Join(dir, kubectlName+suffix))
}

// linkKubectl links the kubectl of the PATH, unless the directory has one.
func linkKubectl(to string) (bool, error) {
	if _, err := os.Stat(to); err == nil {
		return true, nil
	}
	found, err := exec.LookPath(kubectlName)
	if err != nil {
		return false, nil //nolint:nilerr // it is optional
	}
	if found, err = filepath.Abs(found); err == nil {
		err = link(found, to)
	}
	if err != nil {
		return false, fmt.Errorf("envtest: %w", err)
	}
	return true, nil
}

// link replaces a file by a symbolic link.
func link(target, at string) error {
	if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(target, at)
}

// copyProgram copies a program. A server that runs from the old file goes on with it.
func copyProgram(to, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	err = files.Write(to, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
	if err != nil {
		return err
	}
	return os.Chmod(to, 0o755)
}
