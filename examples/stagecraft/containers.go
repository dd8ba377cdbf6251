package main

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
	"github.com/stagecraft-go/stagecraft/stage/lab/containers/kwok"
)

// containersOf returns what the files of kwok say of containers. Log files are those of this machine that the rules
// name; clients choose none of them. Clients run commands on this machine only if commands is set.
func containersOf(names []string, commands bool) (containers.Options, error) {
	var all []*kwok.Rules
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return containers.Options{}, err
		}
		rules, err := kwok.Parse(name, text)
		if err != nil {
			return containers.Options{}, faultyInput{err}
		}
		all = append(all, rules)
	}
	here, err := filepath.Abs(".")
	if err != nil {
		return containers.Options{}, err
	}
	host := kwok.Host{Files: os.DirFS(here), Dial: (&net.Dialer{}).DialContext, Run: refuseCommand}
	if commands {
		host.Run = runCommand
	}
	return kwok.Merge(all...).Options(host), nil
}

func refuseCommand(context.Context, kwok.HostCommand) (int, error) {
	return 0, errors.New("no client runs commands on this machine: start stagecraft serve with --run-commands to allow it")
}

// runCommand runs a command of a client on this machine, and returns its exit code. It does not wait for the end of the
// input, which a client may leave open.
func runCommand(ctx context.Context, c kwok.HostCommand) (int, error) {
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Env, cmd.Dir = append(os.Environ(), c.Env...), c.Dir
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.Stdout, c.Stderr, time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	go func() {
		_, _ = io.Copy(stdin, c.Stdin) // ends with the client, or the command
		_ = stdin.Close()
	}()
	err = cmd.Wait()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended) && ended.ExitCode() > 0:
		return ended.ExitCode(), nil
	case errors.Is(err, exec.ErrWaitDelay): // a process in the background has the output
		return 0, nil
	}
	return 0, err
}
