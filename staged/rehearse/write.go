package rehearse

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/staged/control"
)

// write brings the Bindings and CombinedStatuses on the hub up to date.
func (k *KubeStellar) write(ctx context.Context, bindings []*control.Binding) (faults error) {
	wanted := map[schema.GroupVersionKind]map[types.NamespacedName]any{control.GroupVersion.WithKind("Binding"): {}, control.GroupVersion.WithKind("CombinedStatus"): {}}
	for _, b := range bindings {
		wanted[control.GroupVersion.WithKind("Binding")][types.NamespacedName{Name: b.Name}] = b
		for _, c := range clauses(b) {
			if s, ok := k.hub.combine(b, refOf(c)); ok {
				wanted[control.GroupVersion.WithKind("CombinedStatus")][types.NamespacedName{Namespace: s.Namespace, Name: s.Name}] = s
			}
		}
	}
	for _, kind := range []schema.GroupVersionKind{control.GroupVersion.WithKind("Binding"), control.GroupVersion.WithKind("CombinedStatus")} {
		p := publisher{k.options.Hub, kind}
		if err := p.publish(ctx, wanted[kind]); err != nil {
			faults = errors.Join(faults, fmt.Errorf("hub: %w", err))
		}
	}
	return faults
}

// A publisher writes the objects of one kind to the hub.
type publisher struct {
	hub  *memory.Cluster
	kind schema.GroupVersionKind
}

// publish creates and updates the objects that are wanted, and deletes all others.
func (p publisher) publish(ctx context.Context, wanted map[types.NamespacedName]any) (faults error) {
	list, err := p.hub.List(ctx, p.kind, "", metav1.ListOptions{})
	if err != nil {
		return err
	}
	wanted = maps.Clone(wanted)
	for i := range list.Items {
		old := &list.Items[i]
		name := types.NamespacedName{Namespace: old.GetNamespace(), Name: old.GetName()}
		if obj, ok := wanted[name]; ok {
			faults = errors.Join(faults, p.update(ctx, old, obj))
		} else {
			err := p.hub.Delete(ctx, p.kind, name, metav1.DeleteOptions{})
			if !apierrors.IsNotFound(err) {
				faults = errors.Join(faults, err)
			}
		}
		delete(wanted, name)
	}
	byName := func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) }
	for _, name := range slices.SortedFunc(maps.Keys(wanted), byName) {
		fields, err := fieldsOf(wanted[name])
		if err == nil {
			_, err = p.hub.Create(ctx, &unstructured.Unstructured{Object: fields}, metav1.CreateOptions{})
		}
		faults = errors.Join(faults, err)
	}
	return faults
}

// update writes an object if it has changed.
func (p publisher) update(ctx context.Context, old *unstructured.Unstructured, wanted any) error {
	fields, err := fieldsOf(wanted)
	if err != nil {
		return err
	}
	next := over(old, &unstructured.Unstructured{Object: fields})
	if reflect.DeepEqual(next.Object, old.Object) {
		return nil
	}
	_, err = p.hub.Update(ctx, next, metav1.UpdateOptions{})
	return err
}

// fieldsOf returns the fields of an object of package control, as an API server stores them.
func fieldsOf(obj any) (map[string]any, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, err
	}
	delete(fields["metadata"].(map[string]any), "creationTimestamp")
	return clone(fields)
}
