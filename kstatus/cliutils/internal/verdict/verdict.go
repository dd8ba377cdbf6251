// Package verdict has what the status readers for both modules of cli-utils have in common.
package verdict

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// A Cluster is what both modules call a ClusterReader.
type Cluster interface {
	Get(ctx context.Context, key types.NamespacedName, obj *unstructured.Unstructured) error
	ListNamespaceScoped(ctx context.Context, list *unstructured.UnstructuredList, namespace string, selector labels.Selector) error
	ListClusterScoped(ctx context.Context, list *unstructured.UnstructuredList, selector labels.Selector) error
}

// Options are those of package cliutils.
type Options struct {
	Rules        *kstatus.Rules
	Supports     func(schema.GroupKind) bool
	TerminalOnly bool
	Basis        kstatus.Basis
	HoldOn       time.Duration
	Now          func() time.Time
}

// A Reader computes verdicts.
type Reader struct {
	Options
	Mapper meta.RESTMapper
}

// A Verdict is that on an object or a child.
type Verdict struct {
	Object   *unstructured.Unstructured
	Status   kstatus.Status
	Message  string
	Err      error
	Children []Verdict
}

// NewReader returns a Reader with the defaults of Options.
func NewReader(mapper meta.RESTMapper, o Options) *Reader {
	if o.Rules == nil {
		o.Rules = kstatus.Extended()
	}
	if o.Supports == nil {
		o.Supports = func(schema.GroupKind) bool { return true }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Reader{o, mapper}
}

// Find looks an object up. If it cannot, the Verdict says why.
func (r *Reader) Find(ctx context.Context, c Cluster, kind schema.GroupKind, name types.NamespacedName) (*unstructured.Unstructured, Verdict) {
	mapping, err := r.Mapper.RESTMapping(kind)
	if err != nil {
		return nil, notFoundOr(err)
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(mapping.GroupVersionKind)
	if err := c.Get(ctx, name, obj); err != nil {
		return nil, notFoundOr(err)
	}
	return obj, Verdict{}
}

func notFoundOr(err error) Verdict {
	if apierrors.IsNotFound(err) || errors.Is(err, errNoKind) {
		return Verdict{Status: kstatus.NotFound, Message: "Resource not found"}
	}
	return Verdict{Status: kstatus.Unknown, Message: err.Error(), Err: err}
}

// errNoKind says that the cluster does not have a kind.
var errNoKind = errors.New("the cluster does not have the kind")

// notFound returns the error of a mapper, as errNoKind if it does not know a kind.
func notFound(err error) error {
	if meta.IsNoMatchError(err) {
		return errNoKind
	}
	return err
}

// Judge returns the verdict on an object, with its children if they count.
func (r *Reader) Judge(ctx context.Context, c Cluster, obj *unstructured.Unstructured) Verdict {
	result, children, err := r.Rules.Inspect(ctx, reader{c}, obj, r.Now())
	v := r.verdict(obj, result)
	v.Err = err
	for _, child := range children {
		v.Children = append(v.Children, r.verdict(child.Object, child.Result))
	}
	return v
}

func (r *Reader) verdict(obj *unstructured.Unstructured, result kstatus.Result) Verdict {
	v := Verdict{Object: obj, Status: result.Status, Message: result.Message()}
	switch {
	case r.TerminalOnly && v.Status == kstatus.Failed && !result.Terminal:
		v.Status = kstatus.InProgress
	case r.holds(obj, result):
		v.Status, v.Message = kstatus.InProgress, "Held, it rests on "+result.Basis.String()+": "+v.Message
	}
	return v
}

// holds reports whether an object is Current on a weaker basis than demanded. A reader has no memory
// of when that began: the object is held for a time after its creation.
func (r *Reader) holds(obj *unstructured.Unstructured, result kstatus.Result) bool {
	if r.Basis == 0 || result.Status != kstatus.Current || result.Basis == 0 || result.Basis >= r.Basis {
		return false
	}
	return r.HoldOn == 0 || obj == nil || r.Now().Sub(obj.GetCreationTimestamp().Time) < r.HoldOn
}

// Ended reports whether an error is the end of the caller's context, which is no verdict.
func Ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// A reader is a Cluster as package kstatus wants it.
type reader struct{ Cluster }

// Get implements [kstatus.Reader].
func (r reader) Get(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	return obj, r.Cluster.Get(ctx, name, obj)
}

// List implements [kstatus.Reader]. The list is one page.
func (r reader) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	selector, err := labels.Parse(o.LabelSelector)
	if err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	if namespace == "" {
		return list, r.ListClusterScoped(ctx, list, selector)
	}
	return list, r.ListNamespaceScoped(ctx, list, namespace, selector)
}
