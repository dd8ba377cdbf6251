package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// A Controller brings the cluster in line with the spec of the objects of one kind. It is plain
// data. Only one goroutine at a time calls its functions.
type Controller struct {
	// Name is the controller's name in traces and errors.
	Name string
	// Component is the controller's name in its Events. Default: Name.
	Component string
	// For is the kind that the keys name.
	For schema.GroupVersionKind
	// When reports which changes of the objects themselves matter. Default: all.
	When func(Change) bool
	// Watches are the other kinds that the controller reads. A kind may be watched in several ways.
	Watches []Watch
	// Indexes are the indexes that the controller uses, see [Cache.By].
	Indexes []*Index
	// RetryAfter and MaxRetryAfter are the first and the longest pause after errors. Default: those
	// in [Options].
	RetryAfter, MaxRetryAfter time.Duration
	// Reconcile does the work for one key. The object of the key can be gone. After an error the
	// loop tries the key again, unless the error is [Final].
	Reconcile func(context.Context, Request) (Result, error)
	// Err says why the controller cannot run: a function that makes controllers sets it when it is
	// given parts that do not fit. [Check] returns it.
	Err error
}

// Check returns an error that names each controller that cannot run, and why. [Play] and package
// simulation call it before controllers start.
func Check(controllers ...Controller) error {
	var faults []error
	for _, c := range controllers {
		for _, err := range c.faults() {
			faults = append(faults, fmt.Errorf("controller %q: %w", c.Name, err))
		}
	}
	return errors.Join(faults...)
}

func (c *Controller) faults() (faults []error) {
	if c.Err != nil {
		faults = append(faults, c.Err)
	}
	if c.For.Empty() {
		faults = append(faults, errors.New("For is empty; name the kind of the keys"))
	}
	if c.Reconcile == nil {
		faults = append(faults, errors.New("Reconcile is nil"))
	}
	for i, w := range c.Watches {
		if w.Kind.Empty() {
			faults = append(faults, fmt.Errorf("Watches[%d].Kind is empty", i))
		}
	}
	return faults
}

// A Watch is a kind whose changes matter to a controller.
type Watch struct {
	Kind schema.GroupVersionKind
	// Map returns the keys that a change affects. Default: the controller in the object's owner
	// references, if it is of the kind For. The cache already has the change.
	Map func(*Cache, Change) []types.NamespacedName
}

// A Change is a change of an object. Old is nil for a new object, and New is nil for a deleted
// object.
type Change struct {
	Old, New *unstructured.Unstructured
	// By is the name of the controller of this loop that made the change; "" for other clients.
	By string
}

// Object returns the present object, or the last state of a deleted object.
func (c Change) Object() *unstructured.Unstructured {
	if c.New != nil {
		return c.New
	}
	return c.Old
}

// A Request is one call of a controller.
type Request struct {
	Name  types.NamespacedName
	Now   time.Time // the present time
	Cache *Cache
	// Client sends writes. Their results are in the cache at once.
	Client transport.Writer

	crew *crew // the workers of the controller; nil if no loop made the request
}

// A Result says when a controller wants to be called again. It also counts together with an error:
// the loop tries the key again after the pause or After, whichever is sooner.
type Result struct {
	// After is the time until the key is reconciled again without a change. Default: never. It is
	// valid until the next call for the key.
	After time.Duration
}

// Final marks an error that a further try cannot repair, such as an invalid object. The error goes
// to Trace, but the loop does not reconcile the key again before a change. Final(nil) is nil.
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
	if err == nil {
		return false
	}
	var final *finalError
	return errors.As(err, &final)
}

// controllerOf returns the controller in an object's owner references.
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

// owners is the Map of a Watch without one.
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
