//go:build !linux

package controlplane

import "syscall"

// dieWithParent cannot be asked of other systems.
func dieWithParent() *syscall.SysProcAttr { return nil }
