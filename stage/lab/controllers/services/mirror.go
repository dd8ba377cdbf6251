package services

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

const (
	mirrorManager  = "endpointslicemirroring-controller.k8s.io"
	skipLabel      = "endpointslice.kubernetes.io/skip-mirror"
	leaderKey      = "control-plane.alpha.kubernetes.io/leader"
	lastAppliedKey = "kubectl.kubernetes.io/last-applied-configuration"
)

// EndpointSliceMirroring returns the controller that copies the Endpoints of a Service without a
// selector into EndpointSlices: one for each set of ports and family of addresses, with at most 1000
// addresses of a subset.
func EndpointSliceMirroring() reconcile.Controller {
	return reconcile.Controller{
		Name: "endpointslice-mirroring", Component: "endpoint-slice-mirroring-controller", For: kinds.Endpoints,
		// Endpoints that the other controller writes are those of a Service with a selector.
		When: func(ch reconcile.Change) bool { return ch.By != endpointsController },
		Watches: []reconcile.Watch{
			{Kind: kinds.Service, Map: mirroredService},
			{Kind: kinds.EndpointSlice, Map: mirroredSlice},
		},
		Reconcile: func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{}, mirror(control.NewCall(ctx, r))
		},
	}
}

// mirroredService maps a Service that has no selector, or had none, to its Endpoints.
func mirroredService(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
	without := func(s *unstructured.Unstructured) bool { return s != nil && serviceSelector(s) == nil }
	if without(ch.Old) == without(ch.New) {
		return nil
	}
	return []types.NamespacedName{control.NameOf(ch.Object())}
}

// mirroredSlice maps a slice to the Endpoints that it is a copy of, before and after the change.
func mirroredSlice(_ *reconcile.Cache, ch reconcile.Change) (names []types.NamespacedName) {
	for _, s := range []*unstructured.Unstructured{ch.Old, ch.New} {
		if s == nil || fields.Label(s, managedByLabel) != mirrorManager {
			continue
		}
		name := types.NamespacedName{Namespace: s.GetNamespace(), Name: fields.Label(s, serviceNameLabel)}
		if len(names) == 0 || names[0] != name {
			names = append(names, name)
		}
	}
	return names
}

func mirror(c control.Call) error {
	stored := c.Cache.Select(kinds.EndpointSlice, c.Name.Namespace, labels.SelectorFromSet(labels.Set{serviceNameLabel: c.Name.Name, managedByLabel: mirrorManager}))
	endpoints, service := c.Cache.Get(kinds.Endpoints, c.Name), c.Cache.Get(kinds.Service, c.Name)
	if endpoints == nil || service == nil || serviceSelector(service) != nil || !isMirrored(endpoints) {
		return c.DeleteAll(stored)
	}
	copies, skipped := copiesOf(endpoints)
	if skipped.invalid > 0 {
		c.Record(endpoints, "Warning", "InvalidIPAddress", fmt.Sprintf("Skipped %d invalid IP addresses when mirroring to EndpointSlices", skipped.invalid))
	}
	if skipped.tooMany > 0 {
		c.Record(endpoints, "Warning", "TooManyAddressesToMirror",
			fmt.Sprintf("A max of %d addresses can be mirrored to EndpointSlices per Endpoints subset. %d addresses were skipped", most, skipped.invalid+skipped.tooMany))
	}
	return mirrorWriter{c, endpoints}.sync(copies, stored)
}

func isMirrored(endpoints *unstructured.Unstructured) bool {
	_, leads := endpoints.GetAnnotations()[leaderKey]
	return fields.Label(endpoints, skipLabel) != "true" && !leads
}

// A mirrorWriter writes the slices that are copies of Endpoints.
type mirrorWriter struct {
	control.Call
	endpoints *unstructured.Unstructured
}

// sync writes the copies that differ from the stored slices. A slice without a copy becomes another
// copy of its family of addresses, or is deleted.
func (w mirrorWriter) sync(copies []sliceCopy, stored []*unstructured.Unstructured) error {
	byKey := map[string]*unstructured.Unstructured{}
	for _, s := range stored {
		byKey[keyOfSlice(s)] = s
	}
	var missing []sliceCopy
	used := map[*unstructured.Unstructured]bool{}
	for _, next := range copies {
		old := byKey[next.key()]
		if old == nil {
			missing = append(missing, next)
			continue
		}
		used[old] = true
		if err := w.write(old, next); err != nil {
			return err
		}
	}
	spare := slices.DeleteFunc(slices.Clone(stored), func(s *unstructured.Unstructured) bool { return used[s] })
	for _, next := range missing {
		var old *unstructured.Unstructured
		if i := slices.IndexFunc(spare, func(s *unstructured.Unstructured) bool {
			return fields.String(s.Object, "addressType") == next.addressType
		}); i >= 0 {
			old, spare = spare[i], slices.Delete(spare, i, i+1)
		}
		if err := w.write(old, next); err != nil {
			return err
		}
	}
	return w.DeleteAll(spare)
}

func keyOfSlice(s *unstructured.Unstructured) string {
	return fields.String(s.Object, "addressType") + keyOfPorts(fields.Slice(s.Object, "ports"))
}

// write makes a stored slice a copy, or creates the copy if there is no slice.
func (w mirrorWriter) write(old *unstructured.Unstructured, next sliceCopy) error {
	labels, annotations := fields.CloneMap(w.endpoints.Object, "metadata", "labels"), fields.CloneMap(w.endpoints.Object, "metadata", "annotations")
	labels[serviceNameLabel], labels[managedByLabel] = w.endpoints.GetName(), mirrorManager
	delete(annotations, triggerTimeKey)
	delete(annotations, lastAppliedKey)
	if old == nil {
		s := control.NewGenerated(kinds.EndpointSlice, w.endpoints)
		control.Metadata(s)["labels"] = labels
		if len(annotations) > 0 {
			control.Metadata(s)["annotations"] = annotations
		}
		s.Object["addressType"], s.Object["endpoints"] = next.addressType, next.endpoints
		if len(next.ports) > 0 {
			s.Object["ports"] = next.ports
		}
		_, err := w.Create(s)
		return err
	}
	change, metadata := map[string]any{}, map[string]any{}
	for field, v := range map[string]any{"endpoints": next.endpoints, "ports": orNull(next.ports)} {
		if !object.DeepEqual(old.Object[field], v) {
			change[field] = v
		}
	}
	for field, next := range map[string]map[string]any{"labels": labels, "annotations": annotations} {
		if differ := changedKeys(fields.Map(old.Object, "metadata", field), next); len(differ) > 0 {
			metadata[field] = differ
		}
	}
	if control.ControllerUID(old) != w.endpoints.GetUID() {
		metadata["ownerReferences"] = []any{control.ControllerRef(w.endpoints)}
	}
	if len(change) == 0 && len(metadata) == 0 {
		return nil
	}
	change["metadata"] = metadata
	_, err := w.MergePatch(old, change)
	return err
}
