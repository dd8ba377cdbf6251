package measure

import "syscall"

// dieWithParent has a child killed when this process ends, however it does.
func killWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
