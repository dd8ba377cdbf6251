package controlplane

import (
	"os/exec"
	"syscall"
)

// dieWithParent has a child killed when this process ends, however it does.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// mortal returns a command that runs a program, and is killed when the process that starts it ends: envtest itself has no way to ask for that. It is the program
// alone where the system has no setpriv.
func mortal(program string) []string {
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		return []string{program}
	}
	return []string{setpriv, "--pdeathsig", "KILL", "--", program}
}
