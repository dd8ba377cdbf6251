package manifestwork

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/player"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A manifest is an object that a ManifestWork brings to a cluster.
type manifest struct {
	cluster string
	kind    schema.GroupKind
	name    types.NamespacedName
}

func manifestOf(cluster string, obj *unstructured.Unstructured) manifest {
	return manifest{cluster, obj.GroupVersionKind().GroupKind(), types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}}
}

// note notes a state of a ManifestWork, and what it brings; nil: it does not exist.
func (t *Transport) note(key types.NamespacedName, work *unstructured.Unstructured) {
	for _, m := range t.brings[key] {
		t.holders[m] = slices.DeleteFunc(t.holders[m], func(k types.NamespacedName) bool { return k == key })
		if len(t.holders[m]) == 0 {
			delete(t.holders, m)
		}
	}
	delete(t.brings, key)
	if delete(t.works, key); work == nil {
		return
	}
	t.works[key] = work
	manifests, _, _ := unstructured.NestedSlice(work.Object, "spec", "workload", "manifests")
	for _, m := range manifests {
		if fields, ok := m.(map[string]any); ok {
			of := manifestOf(key.Namespace, &unstructured.Unstructured{Object: fields})
			t.brings[key] = append(t.brings[key], of)
			t.holders[of] = append(t.holders[of], key)
		}
	}
}

// conflicts returns the ManifestWorks of others that bring objects of the workload to clusters that a stage
// selects or a ManifestWork of the policy holds. The one that was created first goes on there.
func (t *Transport) conflicts(v player.View, clusters []fleet.Cluster) (all []v1alpha1.Conflict) {
	add := func(owner string, first bool, cluster string) {
		n := slices.IndexFunc(all, func(c v1alpha1.Conflict) bool { return c.Owner == owner && c.First == first })
		if n < 0 {
			n, all = len(all), append(all, v1alpha1.Conflict{Owner: owner, First: first})
		}
		if !slices.Contains(all[n].Clusters, cluster) {
			all[n].Clusters = append(all[n].Clusters, cluster)
		}
	}
	for _, c := range clusters {
		key := types.NamespacedName{Namespace: c.Name, Name: workName(v)}
		mine := t.works[key]
		if mine == nil && !v.Policy.Selects(c.Labels) {
			continue
		}
		objects := slices.Clone(t.brings[key])
		for _, obj := range v.Contents[v.Workload.Revision].Objects {
			objects = append(objects, manifestOf(c.Name, obj))
		}
		for _, m := range objects {
			for _, other := range t.holders[m] {
				if work := t.works[other]; other != key && work.GetDeletionTimestamp() == nil {
					add(ownerOf(work), mine != nil && isFirst(mine, work), c.Name)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b v1alpha1.Conflict) int {
		if a.Owner == b.Owner && a.First {
			return -1
		}
		return cmp.Or(strings.Compare(a.Owner, b.Owner), 1)
	})
	return all
}

// ownerOf names the policy of a ManifestWork, or, without one, the ManifestWork.
func ownerOf(work *unstructured.Unstructured) string {
	if policy := work.GetLabels()[policyLabel]; policy != "" {
		return v1alpha1.Kind + " " + policy
	}
	return Kind.Kind + " " + work.GetNamespace() + "/" + work.GetName()
}

// isFirst reports whether a ManifestWork was there before another one.
func isFirst(a, b *unstructured.Unstructured) bool {
	one, other := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	if !one.Equal(&other) {
		return one.Before(&other)
	}
	return a.GetUID() < b.GetUID()
}
