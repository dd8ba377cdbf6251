package reconcile

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// A Controller brings the objects of one kind in line with what they ask for. It is plain data. Its
// functions are called from one goroutine at a time.
type Controller struct {
	// Name is what traces and errors call it.
	Name string
	// Component is what its Events call it. Default: Name.
	Component string
	// For is the kind whose names are the keys.
	For schema.GroupVersionKind
	// When reports which changes of the objects themselves matter. Default: all.
	When func(Change) bool
	// Watches are the other kinds that the controller reads. A kind may be watched in several ways.
	Watches []Watch
	// Indexes are ways to look things up that the controller uses, see [Cache.By].
	Indexes []*Index
	// RetryAfter and MaxRetryAfter are the pauses after errors, if they are not those of [Options].
	RetryAfter, MaxRetryAfter time.Duration
	// Reconcile does what is to be done for one key, which may be that of an object that is gone.
	// An error has the key tried again, unless it is [Final].
	Reconcile func(context.Context, Request) (Result, error)
}

// A Watch is a kind whose changes matter to a controller.
type Watch struct {
	Kind schema.GroupVersionKind
	// Map returns the keys that a change is about. Default: the object's controller, as its owner
	// references say, if that is of the kind For. The cache is that after the change.
	Map func(*Cache, Change) []types.NamespacedName
}

// A Change is what happened to an object. Old is nil if it is new, New if it is gone.
type Change struct {
	Old, New *unstructured.Unstructured
	// By is the name of the controller of this loop that made the change, "" if somebody else did.
	By string
}

// Object returns the object as it is now, or as it was last.
func (c Change) Object() *unstructured.Unstructured {
	if c.New != nil {
		return c.New
	}
	return c.Old
}

// A Request is one call of a controller.
type Request struct {
	Name  types.NamespacedName
	Now   time.Time // the time, whoever's clock it is
	Cache *Cache
	// Client sends writes. What they return is in the cache at once.
	Client transport.Writer

	crew *crew // nil if the request was not made by a loop
}

// A Result is what a controller says when it is done. Beside an error it counts, too: the key is tried
// again after the pause or After, whichever is sooner.
type Result struct {
	// After is when to look at the key again if nothing happens before. Default: never. It holds
	// until the next call for that key.
	After time.Duration
}

// Final marks an error that no further attempt will repair, such as an object that makes no sense.
// It goes to Trace, but the key is not looked at again until something changes. Final(nil) is nil.
func Final(err error) error {
	if err == nil {
		return nil
	}
	return &finalError{err}
}

type finalError struct{ err error }

func (e *finalError) Error() string { return e.err.Error() }
func (e *finalError) Unwrap() error { return e.err }

func isFinal(err error) bool {
	var final *finalError
	return errors.As(err, &final)
}

// controllerOf returns what an object's owner references name as its controller.
func controllerOf(obj *unstructured.Unstructured) (ref map[string]any, uid types.UID) {
	refs, _ := object.Slice(obj.Object, "metadata", "ownerReferences")
	for _, r := range refs {
		ref, _ := object.ToMap(r)
		if is, _ := object.Bool(ref, "controller"); is {
			uid, _ := object.String(ref, "uid")
			return ref, types.UID(uid)
		}
	}
	return nil, ""
}

// owners is the Map of a Watch that has none.
func owners(kind schema.GroupVersionKind, c Change) (keys []types.NamespacedName) {
	for _, obj := range []*unstructured.Unstructured{c.New, c.Old} {
		if key, ok := ownerKey(kind, obj); ok && (len(keys) == 0 || keys[0] != key) {
			keys = append(keys, key)
		}
	}
	return keys
}

func ownerKey(kind schema.GroupVersionKind, obj *unstructured.Unstructured) (key types.NamespacedName, ok bool) {
	if obj == nil {
		return key, false
	}
	ref, _ := controllerOf(obj)
	if name, _ := object.String(ref, "kind"); name != kind.Kind {
		return key, false
	}
	version, _ := object.String(ref, "apiVersion")
	gv, err := schema.ParseGroupVersion(version)
	if err != nil || gv.Group != kind.Group {
		return key, false
	}
	name, _ := object.String(ref, "name")
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: name}, true
}
