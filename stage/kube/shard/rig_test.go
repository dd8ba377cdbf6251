package shard_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/kube/shard"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

const duration = 15 * time.Second // of a Lease, the default

const requestTimeout = 30 * time.Second // of a client

// A link connects one member to the cluster, with possible troubles.
type link struct {
	*memory.Cluster
	mu      sync.Mutex
	hangs   bool // requests get no answer
	refuses bool // requests fail at once
	loses   bool // requests are carried out, and their answers lost
	blind   bool // it can write, not read
	slow    time.Duration
	late    time.Duration // answers to updates are late by this time, even when the client no longer waits
	frozen  time.Time     // the process does nothing until then
}

func (l *link) set(f func(*link)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l)
}

var errLink = errors.New("connection refused")

// pass lets a request through, or not.
func (l *link) pass(ctx context.Context) error {
	l.mu.Lock()
	hangs, refuses, frozen, slow := l.hangs, l.refuses, l.frozen, l.slow
	l.mu.Unlock()
	time.Sleep(max(slow, time.Until(frozen))) // whatever ctx says
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case hangs:
		select { // a client of HTTP waits no longer
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(requestTimeout):
			return errLink
		}
	case refuses:
		return errLink
	}
	return nil
}

// answer lets the answer to a request through, or not.
func answer[T any](l *link, v T, err error) (T, error) {
	l.mu.Lock()
	loses, slow := l.loses, l.slow
	l.mu.Unlock()
	time.Sleep(slow)
	if loses {
		return *new(T), errLink
	}
	return v, err
}

func (l *link) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if err := l.pass(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	blind := l.blind
	l.mu.Unlock()
	if blind {
		return nil, errLink
	}
	got, err := l.Cluster.List(ctx, kind, namespace, o)
	return answer(l, got, err)
}

func (l *link) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	if err := l.pass(ctx); err != nil {
		return nil, err
	}
	got, err := l.Cluster.Create(ctx, obj, o)
	return answer(l, got, err)
}

func (l *link) Update(ctx context.Context, obj *unstructured.Unstructured, o metav1.UpdateOptions, subresources ...string) (*unstructured.Unstructured, error) {
	if err := l.pass(ctx); err != nil {
		return nil, err
	}
	got, err := l.Cluster.Update(ctx, obj, o, subresources...)
	l.mu.Lock()
	late := l.late
	l.mu.Unlock()
	time.Sleep(late)
	return answer(l, got, err)
}

func (l *link) Delete(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, o metav1.DeleteOptions) error {
	if err := l.pass(ctx); err != nil {
		return err
	}
	return l.Cluster.Delete(ctx, kind, name, o)
}

// A rig is a group on a cluster in memory, in virtual time.
type rig struct {
	t       testing.TB
	cluster *memory.Cluster
	objects []*unstructured.Unstructured
	members map[string]*running // by a name of the test's own
	all     sync.WaitGroup
	faults  []error
	mu      sync.Mutex
}

// running is one process.
type running struct {
	*shard.Member
	link  *link
	leave context.CancelFunc
}

func newRig(t testing.TB) *rig {
	r := &rig{t: t, cluster: memory.New(memory.Options{}), members: map[string]*running{}}
	for _, key := range keysOf(20) {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(key.GroupVersionKind())
		obj.SetName(key.Name)
		r.objects = append(r.objects, obj)
	}
	return r
}

// start starts a process with an identity.
func (r *rig) start(name, identity string) *running {
	l := &link{Cluster: r.cluster}
	m, err := shard.New(l, shard.Options{Identity: identity, Failed: r.failed})
	require.NoError(r.t, err)
	ctx, cancel := context.WithCancel(r.t.Context())
	p := &running{m, l, cancel}
	r.members[name] = p
	r.all.Go(func() { _ = m.Run(ctx, func() {}) })
	return p
}

func (r *rig) failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, err)
}

// told are the reported failures.
func (r *rig) told() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprint(r.faults)
}

// kill ends a process without a farewell.
func (r *rig) kill(name string) {
	p := r.members[name]
	p.link.set(func(l *link) { l.refuses = true })
	p.leave()
	delete(r.members, name)
}

// stop ends a process as its user would.
func (r *rig) stop(name string) {
	r.members[name].leave()
	delete(r.members, name)
}

// end ends all processes.
func (r *rig) end() {
	for name := range maps.Clone(r.members) {
		r.stop(name)
	}
	r.all.Wait()
}

// owners returns how many objects each process owns, and fails if two processes own one object.
func (r *rig) owners() (owned map[string]int, orphans int) {
	owned = map[string]int{}
	for _, obj := range r.objects {
		var who []string
		for name, p := range r.members {
			if p.Owns(obj) {
				who = append(who, name)
			}
		}
		require.LessOrEqual(r.t, len(who), 1, "%s is owned by %v", obj.GetName(), who)
		if len(who) == 0 {
			orphans++
			continue
		}
		owned[who[0]]++
	}
	return owned, orphans
}

// pass lets time pass and looks all the while that no object has two owners.
func (r *rig) pass(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(250 * time.Millisecond) {
		r.owners()
	}
}

// settle waits until every object has an owner, and returns how long that took.
func (r *rig) settle(limit time.Duration) time.Duration {
	begun := time.Now()
	for {
		if _, orphans := r.owners(); orphans == 0 {
			return time.Since(begun)
		}
		require.LessOrEqual(r.t, time.Since(begun), limit, "some objects have no owner; failures: %s", r.told())
		time.Sleep(50 * time.Millisecond)
	}
}

// share returns the processes that own anything.
func (r *rig) share() []string {
	owned, _ := r.owners()
	return slices.Sorted(maps.Keys(owned))
}

func (r *rig) leases() []string {
	list, err := r.cluster.List(r.t.Context(), leaseKind, "", metav1.ListOptions{})
	require.NoError(r.t, err)
	var names []string
	for _, l := range list.Items {
		names = append(names, l.GetName())
	}
	return names
}

func contextOf(t testing.TB) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}

var leaseKind = schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}

func identity(i int) string { return fmt.Sprintf("player-%d", i) }

// heal ends all troubles except that of a frozen process.
func (l *link) heal() {
	l.hangs, l.refuses, l.loses, l.blind, l.slow, l.late = false, false, false, false, 0, 0
}
