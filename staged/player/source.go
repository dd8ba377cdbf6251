package player

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
)

// A WorkloadKind is a kind of workload objects on the hub.
type WorkloadKind struct {
	schema.GroupVersionKind
	// Resource is the plural name. Default: guessed from the kind.
	Resource string
}

// defaultSettle is how long the source must not have changed before a revision is cut, so that ten
// objects that are applied one after another make one revision.
const defaultSettle = 5 * time.Second

// A source is the workload objects of the hub.
type source struct {
	resources map[schema.GroupVersionKind]string
	objects   map[schema.GroupVersionKind]map[types.NamespacedName]*unstructured.Unstructured
}

func newSource(kinds []WorkloadKind) *source {
	s := &source{resources: map[schema.GroupVersionKind]string{}, objects: map[schema.GroupVersionKind]map[types.NamespacedName]*unstructured.Unstructured{}}
	for _, k := range kinds {
		if k.Resource == "" {
			guess, _ := meta.UnsafeGuessKindToResource(k.GroupVersionKind)
			k.Resource = guess.Resource
		}
		s.resources[k.GroupVersionKind] = k.Resource
		s.objects[k.GroupVersionKind] = map[types.NamespacedName]*unstructured.Unstructured{}
	}
	return s
}

// observe notes a workload object, and reports whether its content has changed.
func (s *source) observe(e watchEvent) bool {
	objects, ours := s.objects[e.kind]
	if !ours {
		return false
	}
	key := nameOf(e.obj)
	old := objects[key]
	if e.deleted {
		delete(objects, key)
		return old != nil
	}
	objects[key] = e.obj
	return old == nil || !reflect.DeepEqual(fleet.Deliver(old).Object, fleet.Deliver(e.obj).Object)
}

// A sourceState is what was seen of the workload of one policy.
type sourceState struct {
	seen  fleet.RevisionID // the newest content
	since time.Time        // when it was seen first
	cut   fleet.RevisionID // the newest revision
	items []*fleet.Object

	wanted fleet.RevisionID // that of the status
	epoch  int64            // of the status: it has grown if the revision has come back
	told   time.Time        // when the status was seen to say that first
}

// workload returns the workload of a policy. A revision is cut once the source has not changed for
// revisions.settle; the first one of a policy at once. Another program may have seen the source change before:
// what differs from the revision of the status counts once the status has said that as long.
func (s *source) workload(v View, state *policyState, at time.Time) fleet.Workload {
	items, objects := s.chosen(v.Policy.Definition().Spec.Downsync)
	now := &state.source
	if len(objects) == 0 {
		return fleet.Workload{}
	}
	content, err := fleet.NewSnapshot(objects)
	if err != nil {
		return fleet.Workload{Revision: now.cut, Objects: now.items, Unsettled: true}
	}
	if content.Revision != now.seen {
		now.seen, now.since = content.Revision, at
	}
	wanted := fleet.RevisionID(v.Status.Wanted)
	if wanted != now.wanted || v.Status.Epoch != now.epoch {
		now.wanted, now.epoch, now.told = wanted, v.Status.Epoch, at
	}
	switch {
	case now.seen == wanted, now.seen == now.cut, now.cut == "" && wanted == "", at.Sub(now.since) >= settleOf(v):
		now.cut, now.items = now.seen, items
		state.contents[now.cut] = content
	case now.cut == "":
		now.items = items
	}
	w := fleet.Workload{Revision: now.cut, Objects: now.items, Unsettled: now.cut != now.seen}
	if wanted != "" && wanted != now.cut && at.Sub(now.told) < settleOf(v) {
		w.Revision, w.Unsettled = "", true // another program has seen something else, which may be newer
	}
	if r := v.Policy.Definition().Spec.Revisions; r != nil && r.Restore {
		w.CannotRestore = cannotRestore(objects, state.backs())
	}
	return w
}

// backs returns the content of the revisions to which clusters are to go back.
func (s *policyState) backs() (all []fleet.Snapshot) {
	for _, c := range s.status.Cohorts {
		if content, known := s.contents[fleet.RevisionID(c.Back)]; known {
			all = append(all, content)
		}
	}
	return all
}

func settleOf(v View) time.Duration {
	if r := v.Policy.Definition().Spec.Revisions; r != nil && r.Settle != nil {
		return r.Settle.Duration
	}
	return defaultSettle
}

// chosen returns the objects that clauses choose.
func (s *source) chosen(downsync []control.DownsyncPolicyClause) (items []*fleet.Object, objects []*unstructured.Unstructured) {
	namespaces := kubestellar.Namespaces{}
	for name, obj := range s.objects[schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}] {
		namespaces[name.Name] = obj.GetLabels()
	}
	for kind, all := range s.objects {
		for name, obj := range all {
			o := kubestellar.Object{Group: kind.Group, Version: kind.Version, Resource: s.resources[kind], Namespace: name.Namespace, Name: name.Name,
				Labels: obj.GetLabels(), ResourceVersion: obj.GetResourceVersion()}
			modulation, matches := kubestellar.Match(downsync, o, namespaces)
			if !matches {
				continue
			}
			items = append(items, &fleet.Object{Clause: control.DownsyncClause{Group: o.Group, Version: o.Version, Resource: o.Resource,
				Namespace: o.Namespace, Name: o.Name, ResourceVersion: o.ResourceVersion, DownsyncModulation: modulation}})
			objects = append(objects, obj)
		}
	}
	slices.SortFunc(items, func(a, b *fleet.Object) int { return strings.Compare(a.Ref().String(), b.Ref().String()) })
	return items, objects
}
