package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/stagecraft-go/stagecraft/internal/files"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// startServer starts a server in memory, in real time, without controllers: no program collects
// garbage or empties namespaces.
func startServer() (kubeconfig string, stop func() error, err error) {
	dir, err := os.MkdirTemp("", "suites-memory-")
	if err != nil {
		return "", nil, err
	}
	cluster := memory.New(memory.Options{RequireNamespaces: true, LateCollection: true})
	listener, err := apiserver.Listen(cluster, apiserver.ListenOptions{Options: apiserver.Options{Bare: true}})
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	stop = func() error { return errors.Join(listener.Close(), os.RemoveAll(dir)) }
	text, err := listener.Kubeconfig()
	kubeconfig = filepath.Join(dir, "kubeconfig")
	return kubeconfig, stop, errors.Join(err, files.WriteBytes(kubeconfig, text))
}
