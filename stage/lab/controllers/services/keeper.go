package services

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// A keeper keeps the slices and Endpoints of Services. A layout that may no longer hold is forgotten,
// and read again: after a change of its Service, after somebody else's change of a slice, and after an
// error.
type keeper struct {
	layouts map[types.NamespacedName]*layout
	times   triggerTimes
}

func (k *keeper) forget(service types.NamespacedName) {
	delete(k.layouts, service)
	delete(k.times, service)
}

// podChanged takes in a change of a Pod that these Services select, or did.
func (k *keeper) podChanged(services []types.NamespacedName, ch reconcile.Change) {
	for _, name := range services {
		if l := k.layouts[name]; l != nil {
			l.changed[ch.Object().GetName()] = true
		}
	}
}

// sliceChanged takes in a change of a slice. It returns no names, because the controller also watches
// the slices of its owners.
func (k *keeper) sliceChanged(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
	name := types.NamespacedName{Namespace: ch.Object().GetNamespace(), Name: fields.Label(ch.Object(), serviceNameLabel)}
	if l := k.layouts[name]; l != nil && ch.By != endpointsController && !l.knows(ch.New) {
		delete(k.layouts, name)
	}
	return nil
}

// knows reports whether a state of a slice is the last one that was written, or an earlier one: the
// controller can see its own writes late.
func (l *layout) knows(state *unstructured.Unstructured) bool {
	if state == nil {
		return false
	}
	for _, g := range l.groups {
		for _, s := range g.slices {
			if s.stored != nil && s.stored.GetName() == state.GetName() {
				order, err := resourceversion.CompareResourceVersion(state.GetResourceVersion(), s.stored.GetResourceVersion())
				return err == nil && order <= 0
			}
		}
	}
	return false
}

func (k *keeper) reconcile(c control.Call, service *unstructured.Unstructured) error {
	if k.layouts == nil {
		k.layouts, k.times = map[types.NamespacedName]*layout{}, triggerTimes{}
	}
	selector := serviceSelector(service)
	if selector == nil || fields.IsTerminating(service) {
		delete(k.layouts, c.Name)
		return nil // the endpoints of a Service without a selector are kept by somebody else
	}
	l := k.layouts[c.Name]
	var at string
	if l == nil || l.service.GetUID() != service.GetUID() || l.service.GetResourceVersion() != service.GetResourceVersion() {
		selected := pods.OfAll(c.Cache.Select(kinds.Pod, service.GetNamespace(), selector))
		at = k.times.all(service, selected)
		l = readLayout(c, service, selected)
		k.layouts[c.Name] = l // before the writes: they can take time, in which Pods change
	} else {
		at = k.times.some(service, l.takeIn(c))
	}
	err := l.write(c, at)
	if err != nil {
		delete(k.layouts, c.Name)
	}
	return err
}

// takeIn takes in the Pods that have changed, and returns them. A Pod that is gone, or no longer
// selected, has no object.
func (l *layout) takeIn(c control.Call) map[string]pods.Pod {
	selector, changed := serviceSelector(l.service), map[string]pods.Pod{}
	for _, name := range slices.Sorted(maps.Keys(l.changed)) {
		obj := c.Cache.Get(kinds.Pod, types.NamespacedName{Namespace: l.service.GetNamespace(), Name: name})
		if obj == nil || !selector.Matches(labels.Set(obj.GetLabels())) {
			l.remove(name)
			changed[name] = pods.Pod{}
			continue
		}
		l.put(pods.Of(obj))
		changed[name] = pods.Of(obj)
	}
	clear(l.changed)
	return changed
}

// write writes what differs: slices, and Endpoints.
func (l *layout) write(c control.Call, triggerTime string) error {
	w := sliceWriter{c, l.service, triggerTime}
	for _, g := range l.groups {
		g.fill()
	}
	if err := w.sync(l); err != nil {
		return err
	}
	e := endpointsWriter{c, l.service, triggerTime}
	if l.rewrite || e.isMissing() {
		if err := e.sync(l.groups); err != nil {
			return err
		}
	}
	l.rewrite = false
	return nil
}

// A sliceWriter writes the slices of one Service.
type sliceWriter struct {
	control.Call
	service     *unstructured.Unstructured
	triggerTime string // of the changes that are written; "" if it is not known
}

// sync writes the slices that differ, and deletes the slices without Pods.
func (w *sliceWriter) sync(l *layout) error {
	spare := l.dropEmpty()
	for _, g := range l.groups {
		for _, s := range g.slices {
			if s.stored == nil && len(spare) > 0 {
				s.stored, spare = spare[0], spare[1:]
			}
			if err := w.write(g, s); err != nil {
				return err
			}
		}
	}
	return w.DeleteAll(spare)
}

// write writes a slice that differs from what is stored.
func (w *sliceWriter) write(g *portGroup, s *slice) (err error) {
	if !s.dirty {
		return nil
	}
	list, addressType := s.endpoints()
	ports := g.ports
	if len(list) == 0 {
		ports = nil
	}
	if s.stored == nil {
		s.stored, err = w.Create(w.newSlice(list, ports, addressType))
		s.dirty = err != nil
		return err
	}
	change := map[string]any{}
	next := map[string]any{"endpoints": orNull(list), "ports": orNull(ports), "addressType": addressType}
	for field, v := range next {
		if !object.DeepEqual(s.stored.Object[field], v) {
			change[field] = v
		}
	}
	labels := changedLabels(s.stored, sliceLabels(w.service))
	if len(change) == 0 && len(labels) == 0 {
		s.dirty = false
		return nil
	}
	change["metadata"] = changedMetadata(labels, w.triggerTime)
	stored, err := w.MergeValues(s.stored, change)
	if err == nil {
		s.stored, s.dirty = stored, false
	}
	return err
}

// orNull returns a list, or nil without elements: a merge patch then deletes the field.
func orNull(list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list
}

func (w *sliceWriter) newSlice(endpoints, ports []any, addressType string) *unstructured.Unstructured {
	s := control.NewGenerated(kinds.EndpointSlice, w.service)
	control.Metadata(s)["labels"] = sliceLabels(w.service)
	s.Object["addressType"] = addressType
	if len(endpoints) > 0 {
		s.Object["endpoints"] = endpoints
	}
	if len(ports) > 0 {
		s.Object["ports"] = ports
	}
	if w.triggerTime != "" {
		s.SetAnnotations(map[string]string{triggerTimeKey: w.triggerTime})
	}
	return s
}
