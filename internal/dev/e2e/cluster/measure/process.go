package measure

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Process is a program that is measured. On Linux it ends with the process that started it. It
// must not be used from several goroutines at once.
type Process struct {
	cmd   *exec.Cmd
	ended chan error
}

// Start starts a program. Its output goes to the file log.
func Start(log string, program string, args ...string) (*Process, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p := &Process{cmd: exec.Command(program, args...), ended: make(chan error, 1)}
	p.cmd.Stdout, p.cmd.Stderr = file, file
	p.cmd.SysProcAttr = killWithParent()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { p.ended <- p.cmd.Wait() }()
	return p, nil
}

// stopTimeout is how long a process may take to end.
const stopTimeout = 10 * time.Second

// Stop ends the process. It is an error if the process had ended before, or has to be killed.
func (p *Process) Stop() error {
	select {
	case err := <-p.ended:
		return fmt.Errorf("%s ended by itself: %v", p.cmd.Path, err)
	default:
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
		return nil
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("%s did not end within %v", p.cmd.Path, stopTimeout)
	}
}

// Usage is the resources that a process has used since it started.
type Usage struct {
	CPU  time.Duration // user and system time, in steps of 10ms
	RSS  int64         // bytes resident now
	Peak int64         // largest number of resident bytes so far
}

// Usage returns the resources that the process has used.
func (p *Process) Usage() (Usage, error) { return usage(p.cmd.Process.Pid) }

func usage(pid int) (Usage, error) {
	s, err := readStat(pid)
	if err != nil {
		return Usage{}, err
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Usage{}, err
	}
	return Usage{CPU: s.cpu, RSS: kilobytes(string(text), "VmRSS:"), Peak: kilobytes(string(text), "VmHWM:")}, nil
}

// kilobytes returns a size in /proc/PID/status as bytes.
func kilobytes(status, name string) int64 {
	for line := range strings.Lines(status) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == name {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n << 10
		}
	}
	return 0
}

// A stat is fields of /proc/PID/stat.
type stat struct {
	parent int
	cpu    time.Duration
}

// tick is the unit of time of /proc on Linux.
const tick = 10 * time.Millisecond

func readStat(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name before may hold anything
	f := strings.Fields(rest)
	if len(f) < 13 {
		return stat{}, errors.New("unknown format of /proc/PID/stat")
	}
	parent, _ := strconv.Atoi(f[1])
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return stat{parent: parent, cpu: time.Duration(user+system) * tick}, nil
}

// Machine returns the CPU time that all processes of the machine have used, and the part of this
// process and its children.
func Machine() (all, own time.Duration, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, f := range strings.Fields(line) {
		if n, err := strconv.ParseInt(f, 10, 64); err == nil && i != 4 && i != 5 { // idle, and waiting for disks
			all += time.Duration(n) * tick
		}
	}
	pids, err := filepath.Glob("/proc/[0-9]*")
	for _, path := range pids {
		pid, _ := strconv.Atoi(filepath.Base(path))
		s, err := readStat(pid)
		if err == nil && (pid == os.Getpid() || s.parent == os.Getpid()) { // others may end meanwhile
			own += s.cpu
		}
	}
	return all, own, err
}
