package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/kube/internal/lease"
)

const (
	manager   = "stagecraft"      // the field manager of the writes of a lease holder
	namespace = "kube-node-lease" // of the Leases of Nodes
)

// schedule puts a node into the dueQueue if this program has to hold its Lease, else it removes it.
// A node that is in it, or busy, stays as it is.
func (h *LeaseHolder) schedule(n *node, due time.Time) {
	switch {
	case n.busy || !h.options.Lease.wanted():
	case !n.managed || !n.owned:
		h.due.remove(n)
		n.until, n.lease = time.Time{}, nil
	case n.index == 0 && h.due.set(n, due):
		signal(h.wake)
	}
}

// dispatch sends the nodes to the goroutines when they become due. Nothing else is done for a node
// whose Lease is held; no loop goes over all nodes.
func (h *LeaseHolder) dispatch(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		n, wait := h.next()
		if n != nil {
			select {
			case h.work <- n:
			case <-ctx.Done():
			}
			continue
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-h.wake:
		case <-timer.C:
		}
	}
}

func (h *LeaseHolder) next() (*node, time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n, wait := h.due.pop(time.Now())
	if n != nil {
		n.busy = true
	}
	return n, wait
}

// holdLeases acquires and renews the Leases of nodes, one after another.
func (h *LeaseHolder) holdLeases(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-h.work:
			sent := time.Now()
			held, err := h.hold(ctx, n, sent)
			if err != nil && ctx.Err() == nil {
				h.options.Failed(fmt.Errorf("nodes: Lease of %s: %w", n.name, err))
			}
			h.done(n, held, err, sent)
		}
	}
}

// done records whether a Lease is held, and schedules the next check. The duration of a Lease
// counts from the time at which its renewal was sent.
func (h *LeaseHolder) done(n *node, held bool, err error, sent time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	before, first := n.held(now), n.until.IsZero()
	if err == nil {
		n.until = time.Time{}
	}
	if held {
		n.until = sent.Add(h.options.Lease.Duration)
	}
	if n.held(now) != before {
		h.notify()
	}
	n.busy = false
	if h.nodes[n.name] == n {
		h.schedule(n, now.Add(h.untilNextCheck(held && first, err)))
	}
}

// untilNextCheck returns how long to wait before the Lease is checked again. The first time it is a
// random part of the period, so that Nodes which came together are not always renewed together.
func (h *LeaseHolder) untilNextCheck(first bool, err error) time.Duration {
	l := h.options.Lease
	switch {
	case err != nil:
		return h.between(l.retry()/2, l.retry())
	case first:
		return h.between(0, l.period())
	}
	return h.between(l.period(), l.period()+l.period()/25)
}

func (h *LeaseHolder) between(a, b time.Duration) time.Duration {
	return a + time.Duration(h.random.Int64N(int64(b-a)+1))
}

// hold renews the Lease of a node, or acquires it if it is free. It reports whether the Lease is
// held now.
func (h *LeaseHolder) hold(ctx context.Context, n *node, now time.Time) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, h.options.Lease.period())
	defer cancel()
	if n.lease == nil {
		err := h.create(ctx, n, now)
		if !apierrors.IsAlreadyExists(err) {
			return err == nil, err
		}
	}
	if !h.isOurs(n.lease) {
		if err := h.read(ctx, n); err != nil || !h.isFree(n, now) {
			return false, err
		}
	}
	return h.update(ctx, n, now)
}

func (h *LeaseHolder) isOurs(l *unstructured.Unstructured) bool {
	return l != nil && lease.Holder(l) == h.options.Lease.Identity
}

func (h *LeaseHolder) isFree(n *node, now time.Time) bool {
	return h.isOurs(n.lease) || n.observed.Expired(n.lease, now)
}

func (h *LeaseHolder) create(ctx context.Context, n *node, now time.Time) error {
	l := h.options.Lease.term().Acquired(lease.New(namespace, n.name), now)
	h.setOwner(l, n)
	got, err := h.cluster.Create(ctx, l, metav1.CreateOptions{FieldManager: manager})
	return n.answered(got, err)
}

// read looks whose Lease it is.
func (h *LeaseHolder) read(ctx context.Context, n *node) error {
	got, err := h.cluster.Get(ctx, lease.Kind, types.NamespacedName{Namespace: namespace, Name: n.name})
	return n.answered(got, err)
}

// update renews or acquires the Lease. If another process has changed or deleted it, update reads
// the new state for the next attempt.
func (h *LeaseHolder) update(ctx context.Context, n *node, now time.Time) (bool, error) {
	term := h.options.Lease.term()
	write := term.Acquired
	if h.isOurs(n.lease) {
		write = term.Renewed
	}
	l := write(n.lease, now)
	h.setOwner(l, n)
	got, err := h.cluster.Update(ctx, l, metav1.UpdateOptions{FieldManager: manager})
	if apierrors.IsConflict(err) {
		if readErr := h.read(ctx, n); readErr != nil || !h.isOurs(n.lease) {
			return false, readErr
		}
		return false, err
	}
	err = n.answered(got, err)
	return err == nil, err
}

var errNoResult = errors.New("the cluster returned neither a result nor an error")

// answered records the answer to a request for the Lease.
func (n *node) answered(l *unstructured.Unstructured, err error) error {
	switch {
	case apierrors.IsNotFound(err):
		n.lease = nil
		return err
	case err == nil && l == nil:
		return errNoResult
	case err != nil:
		return err
	}
	l.SetManagedFields(nil) // managedFields are most of an object, and not needed
	n.lease = l
	n.observed.Observe(l, time.Now())
	return nil
}

// setOwner makes the Node the owner of its Lease, as a kubelet does: the Lease is deleted with it.
func (h *LeaseHolder) setOwner(l *unstructured.Unstructured, n *node) {
	h.mu.RLock()
	uid := n.uid
	h.mu.RUnlock()
	owners := slices.DeleteFunc(l.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.Kind == nodeKind.Kind })
	l.SetOwnerReferences(append(owners, metav1.OwnerReference{APIVersion: "v1", Kind: nodeKind.Kind, Name: n.name, UID: uid}))
}

// expire finds the Leases that were not renewed in time. Another process may hold them now.
func (h *LeaseHolder) expire(ctx context.Context) {
	for ctx.Err() == nil {
		sleep(ctx, h.options.Lease.sweep())
		h.sweep(time.Now())
	}
}

func (h *LeaseHolder) sweep(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range h.nodes {
		if !n.until.IsZero() && !n.held(now) {
			n.until = time.Time{}
			h.notify()
		}
	}
}
