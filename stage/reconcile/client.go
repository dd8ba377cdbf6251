package reconcile

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile/timing"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// client sends the writes of a controller, and makes the loop observe their results.
type client struct {
	transport  transport.Transport
	loop       *Loop
	controller string
	limited    *timing.Client // nil if requests take no time
}

var errNoResult = errors.New("the transport returned neither an object nor an error")

func (c *client) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	if err := c.wait(timing.Create); err != nil {
		return nil, err
	}
	got, err := c.transport.Create(ctx, obj, o)
	return c.observe(got, err, len(o.DryRun) > 0)
}

func (c *client) Patch(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	if err := c.wait(timing.Patch); err != nil {
		return nil, err
	}
	got, err := c.transport.Patch(ctx, kind, name, t, data, o, subresources...)
	return c.observe(got, err, len(o.DryRun) > 0)
}

// ReplaceStatus sends a JSON patch if the transport does not take values.
func (c *client) ReplaceStatus(ctx context.Context, obj *unstructured.Unstructured, status map[string]any, o metav1.PatchOptions) (*unstructured.Unstructured, error) {
	if err := c.wait(timing.Patch); err != nil {
		return nil, err
	}
	got, err := replaceStatus(ctx, c.transport, obj, status, o)
	return c.observe(got, err, len(o.DryRun) > 0)
}

func replaceStatus(ctx context.Context, w transport.Writer, obj *unstructured.Unstructured, status map[string]any, o metav1.PatchOptions) (*unstructured.Unstructured, error) {
	if values, takes := w.(transport.StatusWriter); takes {
		return values.ReplaceStatus(ctx, obj, status, o)
	}
	data, err := object.AppendJSON(nil, []any{
		map[string]any{"op": "add", "path": "/status", "value": status},
		map[string]any{"op": "replace", "path": "/metadata/resourceVersion", "value": obj.GetResourceVersion()},
	})
	if err != nil {
		return nil, err
	}
	name := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	return w.Patch(ctx, obj.GroupVersionKind(), name, types.JSONPatchType, data, o, "status")
}

// CreateValue is Create if the transport does not take values.
func (c *client) CreateValue(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	values, takes := c.transport.(transport.ValueWriter)
	if !takes {
		return c.Create(ctx, obj, o)
	}
	if err := c.wait(timing.Create); err != nil {
		return nil, err
	}
	got, err := values.CreateValue(ctx, obj, o)
	return c.observe(got, err, len(o.DryRun) > 0)
}

// PatchValue sends the patch as text if the transport does not take values. Then the patch must name
// the resourceVersion itself if it is for one version only.
func (c *client) PatchValue(ctx context.Context, p transport.PatchResult, o metav1.PatchOptions) (*unstructured.Unstructured, error) {
	values, takes := c.transport.(transport.ValueWriter)
	if takes {
		if err := c.wait(timing.Patch); err != nil {
			return nil, err
		}
		got, err := values.PatchValue(ctx, p, o)
		return c.observe(got, err, len(o.DryRun) > 0)
	}
	data, err := object.AppendJSON(nil, p.Data)
	if err != nil {
		return nil, err
	}
	if p.Subresource != "" {
		return c.Patch(ctx, p.Kind, p.Name, p.Type, data, o, p.Subresource)
	}
	return c.Patch(ctx, p.Kind, p.Name, p.Type, data, o)
}

// wait returns when a request that is sent now takes effect.
func (c *client) wait(v timing.Verb) error {
	if c.limited == nil {
		return nil
	}
	return c.loop.running.Sleep(c.limited.Send(c.loop.now, v))
}

// observe records the result of a write. An object that is being deleted is gone once a write has
// removed its last finalizer.
func (c *client) observe(obj *unstructured.Unstructured, err error, dry bool) (*unstructured.Unstructured, error) {
	switch {
	case err == nil && obj == nil:
		return nil, errNoResult
	case err != nil || dry || c.loop.staleWrites():
		return obj, err
	case isGone(obj):
		c.remove(obj)
	default:
		c.see(obj)
	}
	return obj, nil
}

// isGone reports whether the deletion of an object is complete.
func isGone(obj *unstructured.Unstructured) bool {
	grace := obj.GetDeletionGracePeriodSeconds()
	return obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 && (grace == nil || *grace == 0)
}

// Delete deletes an object and reads it again, because finalizers can keep it.
func (c *client) Delete(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, o metav1.DeleteOptions) error {
	if err := c.wait(timing.Delete); err != nil {
		return err
	}
	err := c.transport.Delete(ctx, kind, name, o)
	known := c.loop.cache.Get(kind, name)
	if err != nil && !apierrors.IsNotFound(err) || known == nil || len(o.DryRun) > 0 || c.loop.staleWrites() {
		return err
	}
	left, getErr := c.transport.Get(ctx, kind, name)
	switch {
	case apierrors.IsNotFound(getErr) || getErr == nil && left != nil && left.GetUID() != known.GetUID():
		c.remove(known)
	case getErr == nil && left != nil:
		c.see(left)
	}
	return err
}

// see records an object that the controller has written.
func (c *client) see(obj *unstructured.Unstructured) {
	c.loop.active = c.controller
	defer func() { c.loop.active = "" }()
	c.loop.see(watch.Event{Type: watch.Modified, Object: obj}, obj, c.loop.now)
}

// remove removes an object from the cache. Later watch events about the object do not add it again.
func (c *client) remove(obj *unstructured.Unstructured) {
	kind := obj.GroupVersionKind()
	s := c.loop.cache.stores[kind]
	if s == nil {
		return
	}
	change, ok := s.remove(obj)
	if !ok {
		return
	}
	if uid := obj.GetUID(); uid != "" {
		if s.deleted == nil {
			s.deleted = map[types.UID]bool{}
		}
		s.deleted[uid] = true
	}
	c.loop.active = c.controller
	defer func() { c.loop.active = "" }()
	c.loop.changed(kind, change, c.loop.now)
}
