package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/cluster/podcreator"
)

const (
	namespace   = "soak"
	nodes       = 10
	stepTimeout = time.Minute // for one step of a pod's life
)

// A churn creates and deletes pods all the time.
type churn struct {
	client kubernetes.Interface
	// pods at the same time
	lives int

	mu    sync.Mutex
	waits map[string]podWait
	since time.Time
	ended int             // pods deleted since then
	took  []time.Duration // from the creation of each pod to its wanted phase, since then
}

// A podWait waits for a pod to reach a phase, or to be deleted if phase is "".
type podWait struct {
	phase   corev1.PodPhase
	reached chan struct{}
}

func newChurn(ctx context.Context, client kubernetes.Interface, lives int) (*churn, error) {
	c := &churn{client: client, lives: lives, waits: map[string]podWait{}, since: time.Now()}
	_, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	for i := range nodes {
		_, e := client.CoreV1().Nodes().Create(ctx, podcreator.NewNode(fmt.Sprintf("node-%d", i)), metav1.CreateOptions{})
		err = errors.Join(err, e)
	}
	if err != nil {
		return nil, err
	}
	return c, podcreator.Follow(ctx, client, namespace, c.see)
}

func (c *churn) see(event watch.EventType, pod *corev1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, waits := c.waits[pod.Name]
	gone := event == watch.Deleted
	if waits && (gone && w.phase == "" || !gone && w.phase == pod.Status.Phase) {
		close(w.reached)
		delete(c.waits, pod.Name)
	}
}

// run creates and deletes pods until ctx is done. It ends at the first pod that does not reach its
// next phase in time.
func (c *churn) run(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var all sync.WaitGroup
	for i := range c.lives {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if err := c.live(ctx, i, n); err != nil && ctx.Err() == nil {
					fail(err)
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// live takes one pod from creation to deletion.
func (c *churn) live(ctx context.Context, i, n int) error {
	name, phase := fmt.Sprintf("pod-%d-%d", i, n), corev1.PodRunning
	pod := podcreator.NewPod(name, fmt.Sprintf("node-%d", i%nodes))
	if n%2 == 1 {
		phase = corev1.PodSucceeded
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "1"}}
	}
	pods, began := c.client.CoreV1().Pods(namespace), time.Now()
	err := c.step(ctx, name, phase, func() error {
		_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	ran := time.Since(began)
	grace := int64(30)
	err = c.step(ctx, name, "", func() error { return pods.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &grace}) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.took = append(c.took, ran)
	c.ended++
	return err
}

// step calls do and waits until the pod has reached a phase.
func (c *churn) step(ctx context.Context, name string, phase corev1.PodPhase, do func() error) error {
	w := podWait{phase, make(chan struct{})}
	c.mu.Lock()
	c.waits[name] = w
	c.mu.Unlock()
	if err := do(); err != nil {
		return err
	}
	select {
	case <-w.reached:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(stepTimeout):
		return fmt.Errorf("pod %s has not come to %q within %v", name, phase, stepTimeout)
	}
}

// A recentStats describes what happened since the last call of takeStats.
type recentStats struct {
	rate     float64 // pods per second that were deleted
	p50, p99 time.Duration
}

func (c *churn) takeStats() recentStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	l := recentStats{rate: float64(c.ended) / now.Sub(c.since).Seconds()}
	if slices.Sort(c.took); len(c.took) > 0 {
		l.p50, l.p99 = c.took[len(c.took)/2], c.took[len(c.took)*99/100]
	}
	c.since, c.ended, c.took = now, 0, nil
	return l
}
