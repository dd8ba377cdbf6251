//go:build !linux

package controlplane

import "syscall"

// dieWithParent cannot be asked of other systems.
func dieWithParent() *syscall.SysProcAttr { return nil }

// mortal is the program itself: see above.
func mortal(program, _ string) (string, error) { return program, nil }
