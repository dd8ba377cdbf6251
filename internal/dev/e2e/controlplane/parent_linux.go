package controlplane

import (
	"os/exec"
	"syscall"
)

// killWithParent makes the system kill a child when this process ends, however it ends. A Ctrl-C in
// the terminal does not reach the child, because this process may need the child for cleaning up.
func killWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// killedWithParent returns a command that runs a program and is killed when the process that starts
// it ends; envtest has no option for that. Without setpriv it is the program alone.
func killedWithParent(program string) []string {
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		return []string{program}
	}
	return []string{setpriv, "--pdeathsig", "KILL", "--", program}
}
