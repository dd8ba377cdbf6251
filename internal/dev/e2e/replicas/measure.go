package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/workloads"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/reconcile/timing"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// A limit is a rate limit of kube-controller-manager.
type limit struct {
	name  string
	flags []string
	timing.Limits
}

var limits = []limit{
	{"20/s, burst 30", nil, timing.Limits{QPS: 20, Burst: 30}},
	{"none", []string{"--kube-api-qps=1000000", "--kube-api-burst=1000000"}, timing.Limits{}},
}

var podKind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// replicaSet is one whose Pods no scheduler looks at.
func replicaSet(namespace, name string, n int) *unstructured.Unstructured {
	labels := map[string]any{"app": name}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "ReplicaSet",
		"metadata": map[string]any{"name": name, "namespace": namespace},
		"spec": map[string]any{
			"replicas": int64(n), "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "c", "image": "none"}}},
			},
		},
	}}
}

// simulate returns how long it takes in virtual time.
func simulate(ctx context.Context, n int, l limit) (took time.Duration, err error) {
	t := simulation.ClusterLike()
	c := t.Controllers["replicaset"]
	c.Limits = l.Limits
	t.Controllers["replicaset"] = c
	sim, err := simulation.New(stage.MustCompile(), simulation.Options{Seed: 1, Controllers: []reconcile.Controller{workloads.ReplicaSets()}, Timing: t})
	if err != nil {
		return 0, err
	}
	defer sim.Close()
	start, seen := sim.Now(), 0
	err = sim.On(podKind, func(_ context.Context, e watch.Event) error {
		if e.Type == watch.Added {
			seen, took = seen+1, sim.Now().Sub(start)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if _, err := sim.Cluster().Create(ctx, replicaSet("default", "web", n), metav1.CreateOptions{}); err != nil {
		return 0, err
	}
	if err := sim.Advance(ctx, longest); err != nil {
		return 0, err
	}
	if seen != n {
		return 0, fmt.Errorf("simulated: %d of %d Pods", seen, n)
	}
	return took, nil
}

// measure returns how long it takes on a control plane.
func measure(ctx context.Context, plane *controlplane.Plane, n int, l limit) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	flags := append([]string{"--kubeconfig=" + plane.Kubeconfig(), "--leader-elect=false", "--secure-port=0", "--controllers=replicaset-controller"}, l.flags...)
	manager, err := plane.StartProgram(plane.Program("kube-controller-manager"), flags...)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, manager.Stop()) }()
	cluster, err := kube.NewForConfig(plane.Config())
	if err != nil {
		return 0, err
	}
	namespace := fmt.Sprintf("replicas-%d-%d", n, time.Now().UnixNano())
	space := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}}}
	if _, err := cluster.Create(ctx, space, metav1.CreateOptions{}); err != nil {
		return 0, err
	}
	if _, err := create(ctx, cluster, namespace, "first", 1); err != nil { // the controller works now
		return 0, err
	}
	select { // its few requests are made up for
	case <-time.After(2 * time.Second):
	case <-ctx.Done():
	}
	return create(ctx, cluster, namespace, "web", n)
}

// create creates a ReplicaSet and returns when a watch has seen all its Pods, how long that took.
func create(ctx context.Context, cluster *kube.Cluster, namespace, name string, n int) (time.Duration, error) {
	pods, err := cluster.Watch(ctx, podKind, namespace, metav1.ListOptions{LabelSelector: "app=" + name})
	if err != nil {
		return 0, err
	}
	defer pods.Stop()
	began := time.Now()
	if _, err := cluster.Create(ctx, replicaSet(namespace, name, n), metav1.CreateOptions{}); err != nil {
		return 0, err
	}
	for seen := 0; seen < n; {
		select {
		case e, open := <-pods.ResultChan():
			if !open || e.Type == watch.Error {
				return 0, fmt.Errorf("the watch ended after %d of %d Pods: %v", seen, n, e.Object)
			}
			if e.Type == watch.Added {
				seen++
			}
		case <-ctx.Done():
			return 0, fmt.Errorf("%d of %d Pods: %w", seen, n, ctx.Err())
		}
	}
	return time.Since(began), nil
}
