//go:build !linux

package measure

import "syscall"

func killWithParent() *syscall.SysProcAttr { return nil }
