//go:build !linux

package controlplane

import "syscall"

// dieWithParent cannot be asked of other systems.
func dieWithParent() *syscall.SysProcAttr { return nil }

// mortal is the program alone: see above.
func mortal(program string) []string { return []string{program} }
