package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Server is one of the two processes of a [Plane], by the name of its program.
type Server string

// The servers.
const (
	Etcd      Server = "etcd"
	APIServer Server = "kube-apiserver"
)

// script writes a script that starts a server. The script writes its process id and its arguments
// to files.
func (p *Plane) script(s Server) (string, error) {
	path := filepath.Join(p.bin, string(s))
	text := fmt.Sprintf("#!/bin/sh\necho $$ >%q\nprintf '%%s\\n' \"$@\" >%q\n%s\n", path+".pid", path+".args", execKilledWithParent(p.Program(string(s))))
	return path, os.WriteFile(path, []byte(text), 0o700)
}

// execKilledWithParent returns the last line of a script. It runs a program that is killed with its
// parent process.
func execKilledWithParent(program string) string {
	command := killedWithParent(program)
	for i, word := range command {
		command[i] = strconv.Quote(word)
	}
	return "exec " + strings.Join(command, " ") + ` "$@"`
}

// Scripts writes scripts into a directory. They start the servers of another directory, and are
// killed when the process that starts them ends. It is for KUBEBUILDER_ASSETS of tests, which can
// leave servers behind.
func Scripts(assets, dir string) error {
	var errs []error
	for _, s := range []Server{Etcd, APIServer} {
		text := "#!/bin/sh\n" + execKilledWithParent(filepath.Join(assets, string(s))) + "\n"
		errs = append(errs, os.WriteFile(filepath.Join(dir, string(s)), []byte(text), 0o700))
	}
	return errors.Join(errs...)
}

// Kill kills a server, as in a crash, and returns when the process has ended. The files that it has
// written remain.
func (p *Plane) Kill(s Server) error {
	text, err := os.ReadFile(filepath.Join(p.bin, string(s)+".pid"))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("killing %s: %w", s, err)
	}
	for end := time.Now().Add(stopTimeout); syscall.Kill(pid, 0) == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("%s does not end", s)
		}
	}
	return nil
}

// Restart starts a killed server again, on the same port and data. It does not wait until the
// server is ready.
func (p *Plane) Restart(s Server) error {
	path := filepath.Join(p.bin, string(s))
	args, err := os.ReadFile(path + ".args")
	if err != nil {
		return err
	}
	c, err := startChild(path, p.dir, strings.Split(strings.TrimSuffix(string(args), "\n"), "\n"))
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.restarted[s] = c
	return nil
}

// stopRestarted stops a restarted server, which envtest does not know.
func (p *Plane) stopRestarted(s Server) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.restarted[s]; c != nil {
		return c.stop()
	}
	return nil
}
