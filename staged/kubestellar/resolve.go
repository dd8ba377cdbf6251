package kubestellar

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/stagecraft-go/stagecraft/staged/control"
)

// Inventory is what a BindingPolicy chooses from.
type Inventory struct {
	Objects    []Object
	Namespaces Namespaces
	// Clusters are labels by name.
	Clusters map[string]map[string]string
}

// Resolve returns the Binding of a policy: its objects and its clusters, sorted as KubeStellar sorts them, owned by the policy. The error is that
// of an invalid cluster selector, which leaves KubeStellar without a Binding.
func Resolve(policy *control.BindingPolicy, in Inventory) (*control.Binding, error) {
	destinations, err := Destinations(policy.Spec.ClusterSelectors, in.Clusters)
	if err != nil {
		return nil, err
	}
	b := &control.Binding{
		TypeMeta: metav1.TypeMeta{APIVersion: control.Group + "/" + control.Version, Kind: "Binding"},
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: control.Group + "/" + control.Version, Kind: "BindingPolicy", Name: policy.Name, UID: policy.UID,
			Controller: new(true), BlockOwnerDeletion: new(false),
		}}},
	}
	b.Spec.Destinations = destinations
	for _, obj := range in.Objects {
		if how, ok := Match(policy.Spec.Downsync, obj, in.Namespaces); ok && !excluded(obj) {
			b.Spec.Workload = bound(b.Spec.Workload, obj, how)
		}
	}
	slices.SortFunc(b.Spec.Workload.ClusterScope, compareClauses)
	slices.SortFunc(b.Spec.Workload.NamespaceScope, compareClauses)
	return b, nil
}

// Destinations returns the clusters that any of the selectors matches, sorted by name. The error is that of an invalid selector.
func Destinations(selectors []metav1.LabelSelector, clusters map[string]map[string]string) ([]control.Destination, error) {
	var found []control.Destination
	var any []labels.Selector
	for i := range selectors {
		s, err := metav1.LabelSelectorAsSelector(&selectors[i])
		if err != nil {
			return nil, fmt.Errorf("clusterSelectors[%d]: %w", i, err)
		}
		any = append(any, s)
	}
	for name, have := range clusters {
		if slices.ContainsFunc(any, func(s labels.Selector) bool { return s.Matches(labels.Set(have)) }) {
			found = append(found, control.Destination{ClusterID: name})
		}
	}
	slices.SortFunc(found, func(a, b control.Destination) int { return cmp.Compare(a.ClusterID, b.ClusterID) })
	return found, nil
}

func bound(w control.Workload, obj Object, how control.DownsyncModulation) control.Workload {
	c := control.DownsyncClause{
		Group: obj.Group, Version: obj.Version, Resource: obj.Resource, Namespace: obj.Namespace, Name: obj.Name,
		ResourceVersion: obj.ResourceVersion, DownsyncModulation: how,
	}
	if obj.Namespace == "" {
		w.ClusterScope = append(w.ClusterScope, c)
	} else {
		w.NamespaceScope = append(w.NamespaceScope, c)
	}
	return w
}

func compareClauses(a, b control.DownsyncClause) int {
	return cmp.Or(cmp.Compare(resourceText(a), resourceText(b)), cmp.Compare(path(a), path(b)), cmp.Compare(a.ResourceVersion, b.ResourceVersion))
}

// resourceText is a group, version and resource as KubeStellar prints them to sort by.
func resourceText(c control.DownsyncClause) string {
	return c.Group + "/" + c.Version + ", Resource=" + c.Resource
}

func path(c control.DownsyncClause) string {
	if c.Namespace == "" {
		return c.Name
	}
	return c.Namespace + "/" + c.Name
}

// Some groups and resources are never part of a workload.
var (
	excludedGroups = []string{
		"flowcontrol.apiserver.k8s.io", "discovery.k8s.io", "apiregistration.k8s.io", "coordination.k8s.io", control.Group,
	}
	excludedResources = []string{"events", "nodes", "endpoints", "csinodes", "csistoragecapacities", "workstatuses"}
)

func excluded(obj Object) bool {
	return slices.Contains(excludedGroups, obj.Group) || slices.Contains(excludedResources, obj.Resource)
}
