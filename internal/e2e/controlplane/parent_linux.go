package controlplane

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// dieWithParent has a child killed when this process ends, however it does.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// mortal returns a program that is the given one, and is killed when the process that starts it ends: envtest itself has no way to ask for that. It is the
// program itself where the system has no setpriv.
func mortal(program, dir string) (string, error) {
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		return program, nil
	}
	script := filepath.Join(dir, filepath.Base(program))
	return script, os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\nexec %q --pdeathsig KILL -- %q \"$@\"\n", setpriv, program), 0o700)
}
