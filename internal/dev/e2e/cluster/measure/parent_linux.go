package measure

import "syscall"

// killWithParent makes the system kill a child when this process ends, however it ends.
func killWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
