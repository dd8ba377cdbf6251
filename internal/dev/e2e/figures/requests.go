package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// An operation is a request about the i-th Pod.
type operation struct {
	name string
	do   func(context.Context, typed.PodInterface, int) error
}

var operations = []operation{
	{"create", func(ctx context.Context, pods typed.PodInterface, i int) error {
		_, err := pods.Create(ctx, pod(i), metav1.CreateOptions{})
		return err
	}},
	{"status patch", func(ctx context.Context, pods typed.PodInterface, i int) error {
		_, err := pods.Patch(ctx, name(i), types.StrategicMergePatchType, []byte(statusPatch), metav1.PatchOptions{}, "status")
		return err
	}},
	{"get", func(ctx context.Context, pods typed.PodInterface, i int) error {
		_, err := pods.Get(ctx, name(i), metav1.GetOptions{})
		return err
	}},
}

const statusPatch = `{"status":{"phase":"Running","podIP":"10.0.0.1","startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}],` +
	`"containerStatuses":[{"name":"c","image":"i","imageID":"i","containerID":"c","restartCount":0,"ready":true,"started":true,"state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}}}]}}`

func name(i int) string { return "pod-" + strconv.Itoa(i) }

func pod(i int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name(i), Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{AutomountServiceAccountToken: new(false), Containers: []corev1.Container{{Name: "c", Image: "i", Env: []corev1.EnvVar{{Name: "A", Value: "b"}}}}}}
}

// requests prints the CPU of the servers per request, for each wire format.
func requests(ctx context.Context, o options, servers ...server) error {
	for _, format := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		for _, op := range operations {
			var costs []time.Duration
			for _, s := range servers {
				cost, err := s.measure(ctx, o, format, op)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", s.name, op.name, err)
				}
				costs = append(costs, cost)
			}
			fmt.Printf("CPU per %s, %s: %s %s, %s %s: %.2f of it\n", op.name, format,
				servers[0].name, costs[0], servers[1].name, costs[1], costs[0].Seconds()/costs[1].Seconds())
		}
	}
	return nil
}

// pods returns a client of the Pods of a namespace, which it creates.
func (s server) pods(ctx context.Context, namespace, format string) (typed.PodInterface, error) {
	config := rest.CopyConfig(s.config)
	config.QPS, config.ContentType, config.AcceptContentTypes = -1, format, format
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	_, _ = client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	_, err = client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	return client.CoreV1().Pods(namespace), err
}

// measure returns the CPU that a request costs.
func (s server) measure(ctx context.Context, o options, format string, op operation) (time.Duration, error) {
	pods, err := s.pods(ctx, "f"+strconv.Itoa(len(format)), format)
	if err != nil {
		return 0, err
	}
	before, err := s.cpu()
	if err != nil {
		return 0, err
	}
	if err := each(o.requests, o.clients, func(i int) error { return op.do(ctx, pods, i) }); err != nil {
		return 0, err
	}
	after, err := s.cpu()
	return (after - before) / time.Duration(o.requests), err
}

// each calls a function for 0 to n-1, from several goroutines, and returns the first error.
func each(n, goroutines int, do func(int) error) (failed error) {
	var all sync.WaitGroup
	var once sync.Once
	next := make(chan int)
	for range goroutines {
		all.Go(func() {
			for i := range next {
				if err := do(i); err != nil {
					once.Do(func() { failed = err })
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
	return failed
}
