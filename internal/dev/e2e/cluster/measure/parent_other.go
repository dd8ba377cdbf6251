//go:build !linux

package measure

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
