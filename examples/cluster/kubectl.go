package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// A kubectl runs kubectl, so that the demo uses the commands that a reader would type.
type kubectl struct {
	program    string
	kubeconfig string
	out        io.Writer
}

// run runs kubectl until it ends or ctx is done, and passes on its output. Ctrl-C reaches only the
// demo, because the cleanup can need kubectl.
func (k kubectl) run(ctx context.Context, stdin string, args ...string) error {
	if ctx.Err() != nil {
		return nil
	}
	fmt.Fprintln(k.out, "$ kubectl", strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, k.program, append([]string{"--kubeconfig", k.kubeconfig}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), k.out, k.out
	cmd.SysProcAttr = ownGroup()
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// create creates the objects of a manifest. It is an error if one exists already.
func (k kubectl) create(ctx context.Context, manifest string) error {
	return k.run(ctx, manifest, "create", "-f", "-")
}

// remove deletes objects and waits until they are gone. Missing objects are not an error.
func (k kubectl) remove(ctx context.Context, args ...string) error {
	return k.run(ctx, "", append([]string{"delete", "--ignore-not-found"}, args...)...)
}
