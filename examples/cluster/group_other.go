//go:build !unix

package main

import "syscall"

// ownGroup changes nothing: see above.
func ownGroup() *syscall.SysProcAttr { return nil }
