package backup

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// pageSize is how many objects a request asks for, as kubectl does.
const pageSize = 500

// From reads the objects of a cluster, such as a real one of package stage/kube: those of the built-in
// kinds that a cluster in memory has, of o.Kinds, and of all definitions in their storage version.
// It only lists. A kind that the user is not allowed to list becomes an [Omission]; any other error ends it.
//
// The kinds are read one after another, while the cluster goes on. So an object may name another one
// that is missing, or that is later than itself. A controller finds the same when it starts.
func From(ctx context.Context, cluster transport.Lister, o Options) (*Backup, error) {
	r := newReader(o)
	if err := r.list(ctx, cluster, definitionKind); err != nil {
		return nil, err
	}
	defined := r.stored()
	for _, k := range memory.New(memory.Options{Kinds: o.Kinds}).Kinds() {
		if k.GroupVersionKind != definitionKind {
			defined = append(defined, k.GroupVersionKind)
		}
	}
	for _, kind := range defined {
		if err := r.list(ctx, cluster, kind); err != nil {
			return nil, err
		}
	}
	return r.backup()
}

var definitionKind = definition.WithVersion("v1")

// list adds the objects of a kind, page by page.
func (r *reader) list(ctx context.Context, cluster transport.Lister, kind schema.GroupVersionKind) error {
	o := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := cluster.List(ctx, kind, "", o)
		switch {
		case err == nil:
		case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
			return nil // the cluster does not have the kind
		case apierrors.IsForbidden(err):
			r.result.Omissions = append(r.result.Omissions, Omission{Kind: kind, Reason: err.Error()})
			return nil
		default:
			return fmt.Errorf("backup: %s: %w", kind.Kind, err)
		}
		for i := range page.Items {
			r.add(page.Items[i].DeepCopy(), stage.Position{})
		}
		if o.Continue = page.GetContinue(); o.Continue == "" {
			return errors.Join(r.faults...)
		}
	}
}

// stored returns the kinds that the definitions define, each in the version in which it is stored, or
// in the first that is served.
func (r *reader) stored() (all []schema.GroupVersionKind) {
	for _, i := range r.items {
		if versions := servedBy(i.Unstructured); len(versions) > 0 {
			all = append(all, versions[0])
		}
	}
	return all
}

// servedBy returns the kinds that a definition serves, the stored one first.
func servedBy(crd *unstructured.Unstructured) (all []schema.GroupVersionKind) {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		fields, _ := v.(map[string]any)
		name, _ := fields["name"].(string)
		version := schema.GroupVersionKind{Group: group, Version: name, Kind: kind}
		switch {
		case fields["served"] != true:
		case fields["storage"] == true:
			all = append([]schema.GroupVersionKind{version}, all...)
		default:
			all = append(all, version)
		}
	}
	return all
}
