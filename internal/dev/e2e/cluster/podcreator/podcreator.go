package podcreator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// Options of [New].
type Options struct {
	Namespace string // to create
	Pods      int    // default 5000
	Nodes     int    // default 10
	Creators  int    // goroutines that create pods; default 25
}

func (o Options) withDefaults() Options {
	o.Pods = cmp.Or(o.Pods, 5000)
	o.Nodes = cmp.Or(o.Nodes, 10)
	o.Creators = cmp.Or(o.Creators, 25)
	return o
}

// A Creator creates and deletes pods on nodes, and records when they run. It must not be used from
// several goroutines at once.
type Creator struct {
	client  kubernetes.Interface
	options Options
	end     context.CancelFunc

	mu               sync.Mutex
	created, running []time.Time
	ran, gone        counter
}

// A counter counts pods.
type counter struct {
	count int
	all   chan struct{} // closed when all pods are counted
}

func (t *counter) add(of int) {
	if t.count++; t.count == of {
		close(t.all)
	}
}

// New creates the namespace and begins to watch its pods.
func New(ctx context.Context, client kubernetes.Interface, o Options) (*Creator, error) {
	o = o.withDefaults()
	c := &Creator{client: client, options: o, created: make([]time.Time, o.Pods), running: make([]time.Time, o.Pods)}
	c.ran.all, c.gone.all = make(chan struct{}), make(chan struct{})
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.Namespace}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	ctx, c.end = context.WithCancel(ctx)
	return c, Follow(ctx, client, o.Namespace, c.observe)
}

func (c *Creator) observe(event watch.EventType, pod *corev1.Pod) {
	i, err := strconv.Atoi(strings.TrimPrefix(pod.Name, "pod-"))
	if err != nil || i >= c.options.Pods {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case event == watch.Deleted:
		c.gone.add(c.options.Pods)
	case pod.Status.Phase == corev1.PodRunning && c.running[i].IsZero():
		c.running[i] = time.Now()
		c.ran.add(c.options.Pods)
	}
}

func (c *Creator) node(i int) string { return fmt.Sprintf("%s-%d", c.options.Namespace, i) }

// AddNodes creates the nodes.
func (c *Creator) AddNodes(ctx context.Context) error {
	for i := range c.options.Nodes {
		if _, err := c.client.CoreV1().Nodes().Create(ctx, NewNode(c.node(i)), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// WaitReady waits until the nodes are ready.
func (c *Creator) WaitReady(ctx context.Context) error {
	for i := range c.options.Nodes {
		for !c.ready(ctx, c.node(i)) {
			select {
			case <-ctx.Done():
				return fmt.Errorf("node %s is not ready: %w", c.node(i), context.Cause(ctx))
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return nil
}

func (c *Creator) ready(ctx context.Context, node string) bool {
	obj, err := c.client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	return err == nil && slices.ContainsFunc(obj.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// Create creates the pods. It stops at the first error.
func (c *Creator) Create(ctx context.Context) error {
	var next atomic.Int64
	errs := make(chan error, c.options.Creators)
	for range c.options.Creators {
		go func() {
			var err error
			for i := int(next.Add(1)) - 1; i < c.options.Pods && err == nil; i = int(next.Add(1)) - 1 {
				err = c.create(ctx, i)
			}
			errs <- err
		}()
	}
	var all []error
	for range c.options.Creators {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

func (c *Creator) create(ctx context.Context, i int) error {
	c.mu.Lock()
	c.created[i] = time.Now()
	c.mu.Unlock()
	pod := NewPod(fmt.Sprintf("pod-%d", i), c.node(i%c.options.Nodes))
	_, err := c.client.CoreV1().Pods(c.options.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	return err
}

// WaitRunning waits until every pod has been observed Running.
func (c *Creator) WaitRunning(ctx context.Context) error { return c.wait(ctx, &c.ran, "Running") }

// WaitGone waits until the deletion of every pod has been observed.
func (c *Creator) WaitGone(ctx context.Context) error { return c.wait(ctx, &c.gone, "gone") }

func (c *Creator) wait(ctx context.Context, t *counter, what string) error {
	select {
	case <-t.all:
		return nil
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		return fmt.Errorf("only %d of %d pods are %s: %w", t.count, c.options.Pods, what, context.Cause(ctx))
	}
}

// Latencies returns how long each pod took to be observed Running, in ascending order, counted from
// its creation, or from start if that is later. All pods must have been Running.
func (c *Creator) Latencies(start time.Time) []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	took := make([]time.Duration, len(c.running))
	for i, at := range c.running {
		from := c.created[i]
		if from.Before(start) {
			from = start
		}
		took[i] = at.Sub(from)
	}
	slices.Sort(took)
	return took
}

// Delete requests the deletion of all pods with the default grace period of 30 seconds; the program
// that plays the kubelet has to end them. If a busy server exceeds its time for a request, Delete
// repeats the request.
func (c *Creator) Delete(ctx context.Context) error {
	grace := int64(30)
	for {
		err := c.client.CoreV1().Pods(c.options.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &grace}, metav1.ListOptions{})
		if ctx.Err() != nil || !apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err) {
			return err
		}
	}
}

// Close deletes the nodes and stops watching. The namespace remains, because without its controller
// it would never be deleted.
func (c *Creator) Close(ctx context.Context) error {
	c.end()
	var errs []error
	for i := range c.options.Nodes {
		errs = append(errs, c.client.CoreV1().Nodes().Delete(ctx, c.node(i), metav1.DeleteOptions{}))
	}
	return errors.Join(errs...)
}
