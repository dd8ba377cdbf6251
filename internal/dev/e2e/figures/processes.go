package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of times in /proc, 1/USER_HZ.
const clockTick = 10 * time.Millisecond

// stat returns the fields of /proc/PID/stat after the name, and the name.
func stat(pid int) (name string, fields []string, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", nil, err
	}
	before, after, _ := strings.Cut(string(text), ") ")
	_, name, _ = strings.Cut(before, "(")
	return name, strings.Fields(after), nil
}

// descendants returns the processes below this one with the names.
func descendants(names ...string) (found []int, err error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			return nil, err
		}
		if name, _, err := stat(pid); err == nil && slices.Contains(names, name) && isBelow(pid, os.Getpid()) {
			found = append(found, pid)
		}
	}
	if len(found) != len(names) {
		return nil, fmt.Errorf("of %v there are the processes %v", names, found)
	}
	return found, nil
}

func isBelow(pid, root int) bool {
	for pid > 1 && pid != root {
		_, fields, err := stat(pid)
		if err != nil {
			return false
		}
		if pid, err = strconv.Atoi(fields[1]); err != nil {
			return false
		}
	}
	return pid == root
}

// cpu returns the time that the processes of a server have run.
func (s server) cpu() (time.Duration, error) {
	var ticks int64
	for _, pid := range s.processes {
		_, fields, err := stat(pid)
		if err != nil {
			return 0, err
		}
		for _, f := range fields[11:13] { // user, system
			n, err := strconv.ParseInt(f, 10, 64)
			if err != nil {
				return 0, err
			}
			ticks += n
		}
	}
	return time.Duration(ticks) * clockTick, nil
}

// memory returns the resident memory of the processes of a server, in bytes.
func (s server) memory() (int64, error) {
	var pages int64
	for _, pid := range s.processes {
		_, fields, err := stat(pid)
		if err != nil {
			return 0, err
		}
		n, err := strconv.ParseInt(fields[21], 10, 64)
		if err != nil {
			return 0, err
		}
		pages += n
	}
	return pages * int64(os.Getpagesize()), nil
}
