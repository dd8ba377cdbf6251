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
)

// client sends the writes of controllers and has the loop observe what they return.
type client struct {
	transport Transport
	loop      *Loop
}

var errNoResult = errors.New("the transport returned neither an object nor an error")

func (c *client) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	got, err := c.transport.Create(ctx, obj, o)
	return c.saw(got, err, len(o.DryRun) > 0)
}

func (c *client) Patch(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	got, err := c.transport.Patch(ctx, kind, name, t, data, o, subresources...)
	return c.saw(got, err, len(o.DryRun) > 0)
}

// saw takes in the result of a write. A write that removed the last finalizer of an object that is
// being deleted has ended it.
func (c *client) saw(obj *unstructured.Unstructured, err error, dry bool) (*unstructured.Unstructured, error) {
	switch {
	case err == nil && obj == nil:
		return nil, errNoResult
	case err != nil || dry:
		return obj, err
	case ended(obj):
		c.forget(obj)
	default:
		c.loop.Observe(watch.Event{Type: watch.Modified, Object: obj}, c.loop.now)
	}
	return obj, nil
}

func ended(obj *unstructured.Unstructured) bool {
	grace := obj.GetDeletionGracePeriodSeconds()
	return obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 && (grace == nil || *grace == 0)
}

// Delete deletes an object and looks what is left of it.
func (c *client) Delete(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, o metav1.DeleteOptions) error {
	err := c.transport.Delete(ctx, kind, name, o)
	known := c.loop.cache.Get(kind, name)
	if err != nil && !apierrors.IsNotFound(err) || known == nil || len(o.DryRun) > 0 {
		return err
	}
	left, getErr := c.transport.Get(ctx, kind, name)
	switch {
	case apierrors.IsNotFound(getErr) || getErr == nil && left != nil && left.GetUID() != known.GetUID():
		c.forget(known)
	case getErr == nil && left != nil:
		c.loop.Observe(watch.Event{Type: watch.Modified, Object: left}, c.loop.now)
	}
	return err
}

// forget takes an object out of the cache for good, whatever the watch still has to tell of it.
func (c *client) forget(obj *unstructured.Unstructured) {
	kind := obj.GroupVersionKind()
	s := c.loop.cache.shelves[kind]
	if s == nil {
		return
	}
	change, ok := s.remove(obj)
	if !ok {
		return
	}
	if uid := obj.GetUID(); uid != "" {
		s.gone[uid] = true
	}
	c.loop.changed(kind, change, c.loop.now)
}
