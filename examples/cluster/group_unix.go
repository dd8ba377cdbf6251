//go:build unix

package main

import "syscall"

// ownGroup keeps signals of the terminal, such as Ctrl-C, from a child process.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
