//go:build unix

package main

import "syscall"

// ownGroup keeps a program from what the terminal sends to this one.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
