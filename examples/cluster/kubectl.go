package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// kubectl runs kubectl, so that what the demo does is what its reader would type.
type kubectl struct {
	program    string
	kubeconfig string
	out        io.Writer
}

// run runs kubectl to its end, or until ctx is done. What it prints is passed on. A Ctrl-C is for the demo alone: kubectl may be cleaning up.
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

// create creates the objects of a manifest. What is there already is not touched: it is an error.
func (k kubectl) create(ctx context.Context, manifest string) error {
	return k.run(ctx, manifest, "create", "-f", "-")
}

// remove deletes objects and waits until they are gone. It is no error if they are not there.
func (k kubectl) remove(ctx context.Context, args ...string) error {
	return k.run(ctx, "", append([]string{"delete", "--ignore-not-found"}, args...)...)
}
