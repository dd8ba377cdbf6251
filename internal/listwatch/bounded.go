package listwatch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// RequestTimeout is the longest time of a request, where users cannot set it.
const RequestTimeout = 30 * time.Second

// Bounded returns a transport whose requests end within a timeout, also without an answer. A panic is
// an error, and so is an answer that is another object than the requested one. Watches are those of the
// given transport.
func Bounded(to transport.Transport, timeout time.Duration) transport.Transport {
	return bounded{to, timeout}
}

// bounded names each request, so that none of an embedded transport gets around it.
type bounded struct {
	to      transport.Transport
	timeout time.Duration
}

// Request makes one request as [Bounded] does.
func Request[T any](ctx context.Context, timeout time.Duration, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return Guard(func() (T, error) { return do(ctx) })
}

// checked returns an answer if it is the requested object.
func checked(obj *unstructured.Unstructured, err error, kind schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error) {
	if err == nil {
		err = Answers(obj, kind, name, "")
	}
	if err != nil {
		return nil, err
	}
	return obj, nil
}

func (b bounded) Get(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error) {
	obj, err := Request(ctx, b.timeout, func(ctx context.Context) (*unstructured.Unstructured, error) { return b.to.Get(ctx, kind, name) })
	return checked(obj, err, kind, name)
}

func (b bounded) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	list, err := Request(ctx, b.timeout, func(ctx context.Context) (*unstructured.UnstructuredList, error) {
		return b.to.List(ctx, kind, namespace, o)
	})
	if err == nil && list == nil {
		err = errNoResult
	}
	return list, err
}

func (b bounded) Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error) {
	return b.to.Watch(ctx, kind, namespace, o)
}

func (b bounded) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	created, err := Request(ctx, b.timeout, func(ctx context.Context) (*unstructured.Unstructured, error) { return b.to.Create(ctx, obj, o) })
	name := NameOf(obj)
	if created != nil && name.Name == "" && strings.HasPrefix(created.GetName(), obj.GetGenerateName()) {
		name.Name = created.GetName() // the server has made it
	}
	return checked(created, err, obj.GroupVersionKind(), name)
}

func (b bounded) Patch(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	patched, err := Request(ctx, b.timeout, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return b.to.Patch(ctx, kind, name, t, data, o, sub...)
	})
	if patched != nil && len(sub) > 0 && sub[0] != "status" {
		kind = patched.GroupVersionKind() // the answer to a patch of scale is a Scale
	}
	return checked(patched, err, kind, name)
}

func (b bounded) Delete(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, o metav1.DeleteOptions) error {
	_, err := Request(ctx, b.timeout, func(ctx context.Context) (any, error) { return nil, b.to.Delete(ctx, kind, name, o) })
	return err
}

var errOtherObject = errors.New("the transport answered with another object")

// Answers checks that an answer is the requested object. A broken client or proxy can return another
// object, which must not be used as its state. An empty uid matches any uid. A client of typed objects
// may leave out the kind.
func Answers(obj *unstructured.Unstructured, kind schema.GroupVersionKind, name types.NamespacedName, uid types.UID) error {
	if obj == nil {
		return errNoResult
	}
	got := obj.GroupVersionKind()
	if got.Kind == "" {
		got = kind
	}
	if got != kind || NameOf(obj) != name || uid != "" && obj.GetUID() != uid {
		return fmt.Errorf("%w: %s %s with uid %q", errOtherObject, got.Kind, NameOf(obj), obj.GetUID())
	}
	return nil
}
