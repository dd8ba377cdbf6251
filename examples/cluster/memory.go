package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// serveMemory serves a cluster in memory, with its nodes, scheduler, controllers and kubelets, until
// ctx is done. It prints how a shell finds it.
func serveMemory(ctx context.Context, o options, stdout io.Writer) error {
	start := &starting{}
	lab := labtest.New(start, labtest.Options{Nodes: o.nodes, Start: time.Now()})
	if start.err != nil {
		return start.err
	}
	listener, err := apiserver.Listen(lab.Cluster(), apiserver.ListenOptions{})
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "stagecraft-")
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	file := filepath.Join(dir, "kubeconfig")
	err = writeKubeconfig(file, listener)
	if err == nil {
		fmt.Fprintf(stdout, "export KUBECONFIG=%s\n", file)
		err = lab.Simulation().Follow(ctx, o.speed)
	}
	return errors.Join(err, listener.Close(), os.RemoveAll(dir))
}

func writeKubeconfig(file string, l *apiserver.Listener) error {
	text, err := l.Kubeconfig()
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// starting implements the testing interface that a lab needs. It keeps the first error.
type starting struct{ err error }

func (s *starting) Helper() {}

func (s *starting) Fatalf(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}
