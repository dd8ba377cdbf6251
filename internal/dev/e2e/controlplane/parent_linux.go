package controlplane

import (
	"os/exec"
	"syscall"
)

// dieWithParent has a child killed when this process ends, however it does, and not before: what a terminal sends for Ctrl-C is for this process, which may
// have to clean up with the child.
func killWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// mortal returns a command that runs a program, and is killed when the process that starts it ends: envtest itself has no way to ask for that. It is the program
// alone where the system has no setpriv.
func killedWithParent(program string) []string {
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		return []string{program}
	}
	return []string{setpriv, "--pdeathsig", "KILL", "--", program}
}
