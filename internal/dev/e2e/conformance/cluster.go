package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
	"github.com/stagecraft-go/stagecraft/internal/files"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/kubelet"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// nodes is how many nodes the clusters have.
const nodes = 3

// A cluster is the cluster that the tests run on.
type cluster struct {
	kubeconfig string
	stop       func() error
}

func startCluster(memory bool) (cluster, error) {
	if memory {
		return startMemory()
	}
	return startReal()
}

// startReal starts a control plane with all controllers, and kubelets for its Pods.
func startReal() (cluster, error) {
	assets, err := controlplane.Assets(kubebin, os.Stderr)
	if err != nil {
		return cluster{}, err
	}
	plane, err := controlplane.Start(assets)
	if err != nil {
		return cluster{}, err
	}
	controllers, err := plane.StartControllers()
	if err != nil {
		return cluster{}, errors.Join(err, plane.Stop())
	}
	stop, err := startKubelets(plane.Config())
	return cluster{plane.Kubeconfig(), func() error { return errors.Join(stop(), controllers.Stop(), plane.Stop()) }}, err
}

// startKubelets creates Nodes and plays them, and runs their Pods.
func startKubelets(config *rest.Config) (stop func() error, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	stop = func() error { cancel(); all.Wait(); return nil }
	c, err := kube.NewForConfig(config)
	if err != nil {
		return stop, err
	}
	set, err := stage.Compile(stage.Options{}, presets.NodeFast(), presets.NodeHeartbeat())
	if err != nil {
		return stop, err
	}
	for i := range nodes {
		if _, err := c.Create(ctx, newNode(i), metav1.CreateOptions{}); err != nil {
			return stop, err
		}
	}
	withEvents := reconcile.PlayOptions{Options: reconcile.Options{Events: true}}
	all.Go(func() { _ = player.Play(ctx, set, c, player.Options{}) })
	all.Go(func() {
		_ = reconcile.Play(ctx, c, withEvents, kubelet.Pods(kubelet.Options{Program: newPrograms().of, RunUnknown: true}, nil))
	})
	return stop, nil
}

func newNode(i int) *unstructured.Unstructured {
	name := fmt.Sprint("node-", i)
	resources := map[string]any{"cpu": "32", "memory": "256Gi", "pods": "110", "ephemeral-storage": "100Gi"}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Node",
		"metadata": map[string]any{"name": name, "labels": map[string]any{"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}},
		"status": map[string]any{
			"capacity": resources, "allocatable": resources,
			"addresses": []any{map[string]any{"type": "InternalIP", "address": fmt.Sprint("10.0.0.", i+1)}, map[string]any{"type": "Hostname", "address": name}},
		},
	}}
}

// startMemory starts the server in memory, in real time.
func startMemory() (cluster, error) {
	t := &failures{}
	lab := labtest.New(t, labtest.Options{Nodes: nodes, Start: time.Now(), Kubelets: kubelet.Options{Program: newPrograms().of, RunUnknown: true}})
	if t.err != nil {
		return cluster{}, t.err
	}
	listener, err := apiserver.Listen(lab.Cluster(), apiserver.ListenOptions{})
	if err != nil {
		return cluster{}, err
	}
	dir, err := os.MkdirTemp("", "conformance-memory-")
	if err != nil {
		return cluster{}, errors.Join(err, listener.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- lab.Simulation().Follow(ctx, 1) }()
	stop := func() error {
		cancel()
		return errors.Join(<-ended, listener.Close(), os.RemoveAll(dir))
	}
	text, err := listener.Kubeconfig()
	file := filepath.Join(dir, "kubeconfig")
	return cluster{file, stop}, errors.Join(err, files.WriteBytes(file, text))
}

// failures keeps the failures of a lab, which runs without a test.
type failures struct{ err error }

func (f *failures) Helper() {}

func (f *failures) Fatalf(format string, args ...any) {
	f.err = errors.Join(f.err, fmt.Errorf(format, args...))
}
