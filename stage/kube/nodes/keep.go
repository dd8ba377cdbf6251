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
	manager   = "stagecraft"      // the field manager of what a roster writes
	namespace = "kube-node-lease" // of the Leases of Nodes
)

// enlist puts a node on the agenda if its Lease is ours to keep, or takes it off. One that is on it or looked after now stays so.
func (r *Roster) enlist(n *node, due time.Time) {
	switch {
	case n.busy || !r.options.Lease.wanted():
	case !n.managed || !n.owned:
		r.agenda.remove(n)
		n.until, n.lease = time.Time{}, nil
	case n.place == 0 && r.agenda.set(n, due):
		token(r.wake)
	}
}

// dispatch hands out the nodes as they become due. That is all that happens for a node whose Lease is held: nothing looks at all of them.
func (r *Roster) dispatch(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		n, wait := r.next()
		if n != nil {
			select {
			case r.work <- n:
			case <-ctx.Done():
			}
			continue
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-timer.C:
		}
	}
}

func (r *Roster) next() (*node, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, wait := r.agenda.pop(time.Now())
	if n != nil {
		n.busy = true
	}
	return n, wait
}

// keep looks after one node after another.
func (r *Roster) keep(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-r.work:
			sent := time.Now()
			held, err := r.hold(ctx, n, sent)
			if err != nil && ctx.Err() == nil {
				r.options.Failed(fmt.Errorf("nodes: Lease of %s: %w", n.name, err))
			}
			r.done(n, held, err, sent)
		}
	}
}

// done notes what became of a Lease and when to look after it again. A Lease lasts from when its renewal was sent.
func (r *Roster) done(n *node, held bool, err error, sent time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	before, first := n.held(now), n.until.IsZero()
	if err == nil {
		n.until = time.Time{}
	}
	if held {
		n.until = sent.Add(r.options.Lease.Duration)
	}
	if n.held(now) != before {
		r.tell()
	}
	n.busy = false
	if r.nodes[n.name] == n {
		r.enlist(n, now.Add(r.pause(held && first, err)))
	}
}

// pause is when to look after a Lease again. The first time that is anywhere within the period, so that Nodes which came at once are not renewed at once for
// ever.
func (r *Roster) pause(first bool, err error) time.Duration {
	l := r.options.Lease
	switch {
	case err != nil:
		return r.between(l.retry()/2, l.retry())
	case first:
		return r.between(0, l.period())
	}
	return r.between(l.period(), l.period()+l.period()/25)
}

func (r *Roster) between(a, b time.Duration) time.Duration {
	return a + time.Duration(r.random.Int64N(int64(b-a)+1))
}

// hold renews the Lease of a node, or takes it if it is free. It reports whether it is held now.
func (r *Roster) hold(ctx context.Context, n *node, now time.Time) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, r.options.Lease.period())
	defer cancel()
	if n.lease == nil {
		err := r.create(ctx, n, now)
		if !apierrors.IsAlreadyExists(err) {
			return err == nil, err
		}
	}
	if !r.isOurs(n.lease) {
		if err := r.read(ctx, n); err != nil || !r.isFree(n, now) {
			return false, err
		}
	}
	return r.update(ctx, n, now)
}

func (r *Roster) isOurs(l *unstructured.Unstructured) bool {
	return l != nil && lease.Holder(l) == r.options.Lease.Identity
}

func (r *Roster) isFree(n *node, now time.Time) bool {
	return r.isOurs(n.lease) || n.sighting.Expired(n.lease, now)
}

func (r *Roster) create(ctx context.Context, n *node, now time.Time) error {
	l := r.options.Lease.term().Acquired(lease.New(namespace, n.name), now)
	r.own(l, n)
	got, err := r.cluster.Create(ctx, l, metav1.CreateOptions{FieldManager: manager})
	return n.learn(got, err)
}

// read looks whose Lease it is.
func (r *Roster) read(ctx context.Context, n *node) error {
	got, err := r.cluster.Get(ctx, lease.Kind, types.NamespacedName{Namespace: namespace, Name: n.name})
	return n.learn(got, err)
}

// update renews the Lease or takes it. If somebody else was faster, or has deleted it, that is known for the next time.
func (r *Roster) update(ctx context.Context, n *node, now time.Time) (bool, error) {
	term := r.options.Lease.term()
	write := term.Acquired
	if r.isOurs(n.lease) {
		write = term.Renewed
	}
	l := write(n.lease, now)
	r.own(l, n)
	got, err := r.cluster.Update(ctx, l, metav1.UpdateOptions{FieldManager: manager})
	if apierrors.IsConflict(err) {
		if readErr := r.read(ctx, n); readErr != nil || !r.isOurs(n.lease) {
			return false, readErr
		}
		return false, err
	}
	err = n.learn(got, err)
	return err == nil, err
}

var errNoResult = errors.New("the cluster returned neither a result nor an error")

// learn takes in the answer to a request for the Lease.
func (n *node) learn(l *unstructured.Unstructured, err error) error {
	switch {
	case apierrors.IsNotFound(err):
		n.lease = nil
		return err
	case err == nil && l == nil:
		return errNoResult
	case err != nil:
		return err
	}
	l.SetManagedFields(nil) // most of what it would take to remember
	n.lease = l
	n.sighting.See(l, time.Now())
	return nil
}

// own makes the Node the owner of its Lease, so that the Lease goes with it, as a kubelet does.
func (r *Roster) own(l *unstructured.Unstructured, n *node) {
	r.mu.RLock()
	uid := n.uid
	r.mu.RUnlock()
	owners := slices.DeleteFunc(l.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.Kind == nodeKind.Kind })
	l.SetOwnerReferences(append(owners, metav1.OwnerReference{APIVersion: "v1", Kind: nodeKind.Kind, Name: n.name, UID: uid}))
}

// expire notices Leases that could not be renewed in time: others may have them by now.
func (r *Roster) expire(ctx context.Context) {
	for ctx.Err() == nil {
		sleep(ctx, r.options.Lease.sweep())
		r.sweep(time.Now())
	}
}

func (r *Roster) sweep(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.nodes {
		if !n.until.IsZero() && !n.held(now) {
			n.until = time.Time{}
			r.tell()
		}
	}
}
