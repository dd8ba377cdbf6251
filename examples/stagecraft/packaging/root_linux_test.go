package main

import (
	"os/exec"
	"syscall"
)

// inRoot returns a command that has another root, and the user of the image.
func inRoot(root, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Dir = []string{"HOME=/tmp"}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	return cmd
}
