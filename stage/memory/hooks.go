package memory

import (
	"context"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Hooks are functions that see an object before the cluster stores it, like admission in an API
// server. The cluster calls hooks for writes of objects and of their status through any handle, in
// this order:
//
//  1. Default
//  2. Admit
//  3. Review
//  4. Remote, and then Default, Admit and Review again if a function was called
//  5. Validate
//  6. Confirm
//
// Each hook may be nil. An error refuses the write. The cluster does not call hooks for writes of
// the garbage collector, except Removed.
//
// The cluster calls Default, Validate, and the functions of Remote and Confirm without its lock:
// they can take long, other requests go on meanwhile, and several goroutines may call them at once.
// If the stored object has changed meanwhile, the cluster calls the hooks again for the new state.
// After ten tries the error of the write is a Conflict. The other hooks run one at a time.
type Hooks struct {
	// Name identifies the hooks: a cluster has at most one Hooks of each name.
	Name string
	// Schemas is true for hooks that use the schemas of CustomResourceDefinitions, such as the
	// hooks of package stage/lab/definitions. In a cluster without such hooks [Request].Warning
	// names definitions whose schemas have no effect.
	Schemas bool
	// Default fills in fields that the client left out, before the server sets any field.
	Default func(*Review) error
	// Admit sets fields that the server decides. The manager of the write does not own them in
	// managedFields.
	Admit func(*Review) error
	// Review changes or refuses the write, after Admit of all hooks. It is called again for the
	// changed object if other objects have changed meanwhile. The manager of the write does not own
	// the changes. Review may count objects in the status of another object, as quotas do,
	// see [Review.PutStatus]. The cluster does not call Review for deletions and writes of a
	// status.
	Review func(*Review) error
	// Validate refuses an invalid object. It must not change the object.
	Validate func(*Review) error
	// Remote returns a function that makes calls outside the cluster, such as webhooks; nil without
	// such calls. The cluster calls the function without its lock, so that the function can take
	// time, and can read and write the cluster. The function may change the object of the Review,
	// or refuse the write. The cluster calls it after Review, also for a deletion (Review.New is
	// nil), and again if the stored object has changed meanwhile.
	Remote func(*Review) func() error
	// Convert returns the objects of a Conversion in the wanted version, in the same order. The
	// cluster calls it without its lock for kinds whose definition has another strategy than None in
	// spec.conversion: when a request reads objects that are stored in another version, and before a
	// write is stored. The result must not share maps and lists with the given objects if it changes
	// them. An error is the answer to the request; a watch ends with it. If several hooks have
	// Convert, the last is called. Without it, only apiVersion changes.
	Convert func(context.Context, Conversion) ([]*unstructured.Unstructured, error)
	// Confirm is like Remote, but the cluster calls its function last, for a valid object, and the
	// function must not change the object.
	Confirm func(*Review) func() error
	// Removed is called for each object that was removed, within the write that removed it. The
	// object is Review.Old; New is nil. Unlike the other hooks it is also called for writes of the
	// garbage collector. It may change other objects with it, see [Review.PutStatus],
	// and must not use the cluster by other means than the Review.
	Removed func(*Review)
	// Provides is a value for other users of the cluster, who find it by its type with [Provided].
	// The cluster does not use it. Nil: nothing.
	Provides any
}

// Extend adds hooks to the cluster of this handle, after earlier hooks. They replace hooks of the
// same name. Later forks also have them.
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

// HasHooks reports whether hooks with a name see the writes of the cluster.
func (c *Cluster) HasHooks(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.hooks, func(h Hooks) bool { return h.Name == name })
}

// Provided returns the value of type T that the hooks of a cluster provide, of the last hooks if
// several do. It returns false without such hooks. A server finds in this way what a cluster has
// besides objects, such as the logs of its containers.
func Provided[T any](c *Cluster) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range slices.Backward(c.hooks) {
		if v, is := h.Provides.(T); is {
			return v, true
		}
	}
	var none T
	return none, false
}

// A remoteCall is the error of a write that the cluster repeats after the calls.
type remoteCall struct {
	review *Review
	seen   *unstructured.Unstructured // the stored object
	do     []func() error
	isLast bool // no call follows
}

func (*remoteCall) Error() string { return "a webhook has to be called" }

func (c *remoteCall) add(do func() error) {
	if do != nil {
		c.do = append(c.do, do)
	}
}

// ask makes the calls in the order of the hooks.
func (c *remoteCall) ask() error {
	for _, do := range c.do {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// mostTries is the largest number of tries of one write, whose object can change during a step
// without the lock.
const mostTries = 10

// attempt does a write and its calls outside the cluster. The caller holds mu; attempt releases mu
// during the calls, and during steps that can take long.
func (c *Cluster) attempt(r *request, f func(*request) (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
	c.expire()
	for r.tries = 1; r.tries <= mostTries; r.tries++ {
		r.Time = c.now()
		obj, err := r.do(f)
		if err == errStale { //nolint:errorlint // it is never wrapped
			continue
		}
		call, asks := err.(*remoteCall) //nolint:errorlint // it is never wrapped
		if !asks {
			c.settle()
			return obj, err
		}
		if err := r.doUnlocked(call.ask); err != nil {
			return nil, err
		}
		r.decided, r.decidedOn, r.settled = call.review, call.seen, call.isLast
	}
	return nil, apierrors.NewConflict(r.resource(), r.Name.Name, errModified)
}

// fill calls Default of the hooks, without the lock.
func (r *request) fill(before, next map[string]any) error {
	hooks := r.hooks
	if !slices.ContainsFunc(hooks, func(h Hooks) bool { return h.Default != nil }) {
		return nil
	}
	v := r.reviewOf(before, next)
	return r.unlocked(func() error {
		for _, h := range hooks {
			if h.Default == nil {
				continue
			}
			if err := h.Default(v); err != nil {
				return err
			}
		}
		return nil
	})
}

// admits calls Admit of the hooks.
func (r *request) admits(before, next map[string]any) error {
	for _, h := range r.hooks {
		if h.Admit == nil {
			continue
		}
		if err := h.Admit(r.reviewOf(before, next)); err != nil {
			return err
		}
	}
	return nil
}

// review runs Review, Remote, Validate and Confirm of the hooks. next is nil for a deletion.
func (r *request) review(before, next map[string]any) error {
	if len(r.hooks) == 0 {
		return r.refuseName()
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
		if err := wellFormed(next); err != nil { // the calls could write anything
			return err
		}
		if err := r.fill(before, next); err != nil {
			return err
		}
		if err := r.admits(before, next); err != nil {
			return err
		}
	}
	return r.agree(r.reviewOf(before, next))
}

// agree runs Review and Validate, and then returns the confirming calls, if any. If other objects
// have changed during Validate, agree runs Review again, because Review can count them.
func (r *request) agree(v *Review) error {
	call := r.confirm(v)
	v.rehearsed = call != nil
	if err := r.reviews(v); err != nil {
		return err
	}
	version := r.version
	if err := r.validate(v); err != nil {
		return err
	}
	switch {
	case call != nil:
		return call
	case r.version == version:
		return nil
	}
	return r.reviews(v)
}

// reviews calls Review of the hooks.
func (r *request) reviews(v *Review) error {
	v.others = nil
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

// validate calls Validate of the hooks, without the lock. An object whose name is wrong is not valid, whatever they say.
func (r *request) validate(v *Review) error {
	hooks := r.hooks
	if v.New == nil || !slices.ContainsFunc(hooks, func(h Hooks) bool { return h.Validate != nil }) {
		return r.refuseName()
	}
	return r.unlocked(func() error {
		for _, h := range hooks {
			if h.Validate == nil {
				continue
			}
			if err := h.Validate(v); err != nil {
				return err
			}
		}
		return r.misnamedError()
	})
}

// remote returns the calls for a write; nil without calls. If the calls were already made for the
// stored state of the object, it also returns nil, and the object gets the changes of the calls.
func (r *request) remote(v *Review) *remoteCall {
	if d := r.decided; d != nil && r.decidedOn == r.seen {
		if v.New != nil {
			clear(v.new.Object)
			maps.Copy(v.new.Object, d.new.Object)
		}
		return nil
	}
	r.decided, r.settled = nil, false
	return r.calls(v, func(h Hooks) func(*Review) func() error { return h.Remote })
}

// confirm returns the calls that come last.
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

// calls returns the calls of the hooks; nil without calls. The calls for the object of a
// subresource were made before, see Cluster.Consult.
func (r *request) calls(v *Review, hook func(Hooks) func(*Review) func() error) *remoteCall {
	if r.special {
		return nil
	}
	var call *remoteCall
	for _, h := range r.hooks {
		ask := hook(h)
		if ask == nil {
			continue
		}
		if call == nil {
			call = &remoteCall{seen: r.seen, review: v.kept()}
		}
		call.add(ask(call.review))
	}
	if call == nil || len(call.do) == 0 {
		return nil
	}
	return call
}
