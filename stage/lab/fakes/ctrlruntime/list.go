package ctrlruntime

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/stagecraft-go/stagecraft/stage/lab/fakes/internal/server"
)

// An Index is a field that List can select by. It has the arguments of
// client.FieldIndexer.IndexField: an object of the type that Extract takes, the name of the field,
// and the function that returns its values.
type Index struct {
	Object  client.Object
	Field   string
	Extract client.IndexerFunc
}

func (c *conn) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	kind, o, err := c.selected(list, opts)
	if err != nil {
		return err
	}
	indexed, err := c.takeIndexed(kind, o)
	if err != nil {
		return err
	}
	if len(indexed) > 0 {
		o.Limit = 0 // a page would count objects that the client leaves out afterwards
	}
	found, err := c.server.Cluster.List(ctx, kind, o.Namespace, *o.AsListOptions())
	for _, t := range indexed {
		if err == nil {
			found.Items, err = t.filter(found.Items)
		}
	}
	if err != nil {
		return err
	}
	if err := server.ListInto(found, list); err != nil || !c.cached {
		return err
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		item.GetObjectKind().SetGroupVersionKind(kind)
		return nil
	})
}

// selected returns the kind of the items of a list, and the options.
func (c *conn) selected(list client.ObjectList, opts []client.ListOption) (schema.GroupVersionKind, *client.ListOptions, error) {
	kind, err := apiutil.GVKForObject(list, c.server.Scheme)
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	return kind, (&client.ListOptions{}).ApplyOptions(opts), err
}

// A term is a value that an indexed field must have.
type term struct {
	index Index
	value string
}

// takeIndexed removes the terms for indexed fields from a field selector, and returns them.
func (c *conn) takeIndexed(kind schema.GroupVersionKind, o *client.ListOptions) (terms []term, err error) {
	if o.FieldSelector == nil || len(c.indexes) == 0 {
		return nil, nil
	}
	var rest []fields.Selector
	for _, r := range o.FieldSelector.Requirements() {
		index, found, err := c.index(kind, r.Field)
		switch {
		case err != nil:
			return nil, err
		case !found && r.Operator == selection.NotEquals:
			rest = append(rest, fields.OneTermNotEqualSelector(r.Field, r.Value))
		case !found:
			rest = append(rest, fields.OneTermEqualSelector(r.Field, r.Value))
		case r.Operator == selection.NotEquals:
			return nil, apierrors.NewBadRequest(fmt.Sprintf("field %s: an index finds equal values only", r.Field))
		default:
			terms = append(terms, term{index, r.Value})
		}
	}
	o.FieldSelector = fields.AndSelectors(rest...)
	return terms, nil
}

func (c *conn) index(kind schema.GroupVersionKind, field string) (Index, bool, error) {
	for _, i := range c.indexes {
		of, err := apiutil.GVKForObject(i.Object, c.server.Scheme)
		if err != nil {
			return Index{}, false, fmt.Errorf("index %s: %w", i.Field, err)
		}
		if of == kind && i.Field == field {
			return i, true, nil
		}
	}
	return Index{}, false, nil
}

func (t term) filter(items []unstructured.Unstructured) (kept []unstructured.Unstructured, err error) {
	for _, item := range items {
		obj := reflect.New(reflect.TypeOf(t.index.Object).Elem()).Interface().(client.Object)
		if err := server.Into(item.DeepCopy(), obj); err != nil {
			return nil, err
		}
		if slices.Contains(t.index.Extract(obj), t.value) {
			kept = append(kept, item)
		}
	}
	return kept, nil
}
