//go:build !linux

package controlplane

import "syscall"

// killWithParent does nothing on systems other than Linux.
func killWithParent() *syscall.SysProcAttr { return nil }

// killedWithParent returns the program alone on systems other than Linux.
func killedWithParent(program string) []string { return []string{program} }
