package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/clientcmd"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
)

// A plane is the cluster of the demo: its configuration, a kubectl for it, and a function that
// stops it.
type plane struct {
	kubeconfig string
	kubectl    string // the program
	stop       func() error
}

// connect uses the cluster of a kubeconfig, or starts a cluster without one.
func connect(kubeconfig string, log io.Writer) (*plane, error) {
	if kubeconfig == "" {
		return start(log)
	}
	if _, err := clientcmd.LoadFromFile(kubeconfig); err != nil {
		return nil, fmt.Errorf("-kubeconfig %s: %w", kubeconfig, err)
	}
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		return nil, fmt.Errorf("the demo talks to your cluster by kubectl: %w", err)
	}
	return &plane{kubeconfig: kubeconfig, kubectl: kubectl, stop: func() error { return nil }}, nil
}

// start starts a control plane on loopback. Its programs are built once, which takes about five
// minutes on two cores.
func start(log io.Writer) (*plane, error) {
	fmt.Fprintln(log, "# etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubectl: building what is not there yet (5 minutes, once)")
	if err := os.Setenv("STAGECRAFT_E2E", "1"); err != nil {
		return nil, err
	}
	assets, err := controlplane.Assets("../../internal/dev/kubebin", log)
	if err != nil {
		return nil, err
	}
	ctrllog.SetLogger(logr.Discard()) // of the command that starts the server
	server, err := controlplane.Start(assets)
	if err != nil {
		return nil, err
	}
	controllers, err := server.StartControllers()
	if err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	return &plane{
		kubeconfig: server.Kubeconfig(),
		kubectl:    filepath.Join(assets, "kubectl"),
		stop:       func() error { return errors.Join(controllers.Stop(), server.Stop()) },
	}, nil
}
