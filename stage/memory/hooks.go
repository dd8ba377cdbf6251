package memory

import (
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Hooks are what an API server does with an object before it stores the object. The cluster calls the
// hooks for writes of objects and of their status through any handle, in this order:
//
//  1. Default
//  2. Admit
//  3. Review
//  4. Remote, and then Default, Admit and Review again if a function was called
//  5. Validate
//  6. Confirm
//
// Each may be nil. An error refuses the write. The cluster does not call hooks for what the garbage
// collector deletes or changes.
type Hooks struct {
	// Name tells hooks apart: a cluster has one of each name.
	Name string
	// Schemas says that the hooks use the schemas of CustomResourceDefinitions, as those of package
	// stage/lab/definitions do. In a cluster without such hooks [Request].Warning names definitions
	// whose schemas have no effect.
	Schemas bool
	// Default fills in what the sender of an object left open, before the server sets anything.
	Default func(*Review) error
	// Admit adds what the server decides about an object. The manager of the write does not own it
	// in managedFields.
	Admit func(*Review) error
	// Review changes or refuses what is written, after Admit of all hooks. The manager of the write does
	// not own the changes. Review may keep account of objects in others, as quotas do, see
	// [Review.PutStatus]. The cluster does not call it for deletions and writes of a status.
	Review func(*Review) error
	// Validate refuses what must not be stored. It changes nothing.
	Validate func(*Review) error
	// Remote returns what has to be asked outside the cluster about a write, nil: nothing. The
	// function that it returns is called without the lock of the cluster, so that it may take time,
	// and read and write the cluster; it may change the object of the Review, or refuse it. It is
	// called after Review, for a deletion too (Review.New is nil), and again if the stored
	// object has changed meanwhile.
	Remote func(*Review) func() error
	// Confirm is as Remote, but what it returns is called last, about an object that is valid, and
	// must not change it.
	Confirm func(*Review) func() error
}

// Extend adds hooks to the cluster of this handle, after those that were added before, or in the
// place of those of the same name. Forks made later have them, too.
func (c *Cluster) Extend(h Hooks) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hooks = slices.Clone(c.hooks) // forks have them
	if i := slices.IndexFunc(c.hooks, func(old Hooks) bool { return old.Name == h.Name }); i >= 0 {
		c.hooks[i] = h
		return
	}
	c.hooks = append(c.hooks, h)
}

// A remoteCall is the error of a write that is carried out again after a call.
type remoteCall struct {
	review *Review
	do     []func() error
	isLast bool // nobody has to be asked afterwards
}

func (*remoteCall) Error() string { return "a webhook has to be called" }

func (c *remoteCall) add(do func() error) {
	if do != nil {
		c.do = append(c.do, do)
	}
}

// ask makes the calls, in the order of the hooks.
func (c *remoteCall) ask() error {
	for _, do := range c.do {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// mostCalls is how often one write is carried out at most, because its object changes while a
// webhook is asked.
const mostCalls = 10

// attempt carries out a write, and asks what has to be asked. It is called with mu held, and
// releases it while it asks.
func (c *Cluster) attempt(r request, f func(*request) (*unstructured.Unstructured, error)) (request, *unstructured.Unstructured, error) {
	c.expire()
	for range mostCalls {
		r.Time = c.now()
		c.current = r
		obj, err := c.current.do(f)
		r, c.current = c.current, request{}
		call, asks := err.(*remoteCall) //nolint:errorlint // it is never wrapped
		if !asks {
			c.settle()
			return r, obj, err
		}
		c.mu.Unlock()
		err = call.ask()
		c.mu.Lock()
		if err != nil {
			return r, nil, err
		}
		r.decided, r.settled = call.review, call.isLast
	}
	return r, nil, apierrors.NewConflict(r.resource(), r.Name.Name, errModified)
}

// fill calls the hooks that fill in what the sender of an object left open.
func (r *request) fill(before, next map[string]any) error {
	return r.call(before, next, func(h Hooks) func(*Review) error { return h.Default })
}

// admits calls the hooks that add what the server decides.
func (r *request) admits(before, next map[string]any) error {
	return r.call(before, next, func(h Hooks) func(*Review) error { return h.Admit })
}

func (r *request) call(before, next map[string]any, hook func(Hooks) func(*Review) error) error {
	for _, h := range r.hooks {
		do := hook(h)
		if do == nil {
			continue
		}
		if err := do(r.reviewOf(before, next)); err != nil {
			return err
		}
	}
	return nil
}

// review asks everybody who has a say about a write. next is nil if the object is deleted.
func (r *request) review(before, next map[string]any) error {
	if len(r.hooks) == 0 {
		return nil
	}
	v := r.reviewOf(before, next)
	if call := r.remote(v); call != nil {
		v.rehearsed = true
		if err := r.reviews(v); err != nil {
			return err
		}
		return call
	}
	if r.decided != nil && !r.settled && next != nil {
		if err := r.fill(before, next); err != nil {
			return err
		}
		if err := r.admits(before, next); err != nil {
			return err
		}
	}
	return r.agree(r.reviewOf(before, next))
}

// agree asks those who change nothing, or no longer ask anybody.
func (r *request) agree(v *Review) error {
	call := r.confirm(v)
	v.rehearsed = call != nil
	if err := r.reviews(v); err != nil {
		return err
	}
	if err := r.validate(v); err != nil || call == nil {
		return err
	}
	return call
}

// reviews calls Review of the hooks.
func (r *request) reviews(v *Review) error {
	if r.Subresource == "status" || v.New == nil {
		return nil
	}
	for _, h := range r.hooks {
		if h.Review == nil {
			continue
		}
		if err := h.Review(v); err != nil {
			return err
		}
	}
	return nil
}

func (r *request) validate(v *Review) error {
	for _, h := range r.hooks {
		if h.Validate == nil || v.New == nil {
			continue
		}
		if err := h.Validate(v); err != nil {
			return err
		}
	}
	return nil
}

// remote returns the calls that have to be made about a write, nil if there are none or if they
// were made for the stored state of the object. In the latter case the object becomes what they
// have made of it.
func (r *request) remote(v *Review) *remoteCall {
	if d := r.decided; d != nil && same(d.old.Object, v.old.Object) {
		if v.New != nil {
			clear(v.new.Object)
			maps.Copy(v.new.Object, d.new.Object)
		}
		return nil
	}
	r.decided, r.settled = nil, false
	return r.calls(v, func(h Hooks) func(*Review) func() error { return h.Remote })
}

// confirm returns the calls that have to be made last.
func (r *request) confirm(v *Review) *remoteCall {
	if r.settled {
		return nil
	}
	call := r.calls(v, func(h Hooks) func(*Review) func() error { return h.Confirm })
	if call != nil {
		call.isLast = true
	}
	return call
}

// calls asks the hooks which calls have to be made, nil if there are none. Those about the object of a
// subresource have been made, see Cluster.Consult.
func (r *request) calls(v *Review, hook func(Hooks) func(*Review) func() error) *remoteCall {
	if r.special {
		return nil
	}
	call := &remoteCall{}
	for _, h := range r.hooks {
		ask := hook(h)
		if ask == nil {
			continue
		}
		if call.review == nil {
			call.review = v.kept()
		}
		call.add(ask(call.review))
	}
	if len(call.do) == 0 {
		return nil
	}
	return call
}
