//go:build !unix

package main

import "syscall"

// ownGroup does nothing on systems other than Unix.
func ownGroup() *syscall.SysProcAttr { return nil }
