package kubestellar

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/stagecraft-go/stagecraft/staged/control"
)

// Inventory is everything that a BindingPolicy can select.
type Inventory struct {
	Objects    []Object
	Namespaces Namespaces
	// Clusters are the labels of the clusters, by name.
	Clusters map[string]map[string]string
}

// Resolve returns the Binding of a BindingPolicy: its objects and clusters, sorted as KubeStellar
// sorts them. The BindingPolicy owns it. An invalid cluster selector is an error; KubeStellar makes
// no Binding then.
func Resolve(policy *control.BindingPolicy, in Inventory) (*control.Binding, error) {
	destinations, err := Destinations(policy.Spec.ClusterSelectors, in.Clusters)
	if err != nil {
		return nil, err
	}
	b := &control.Binding{
		TypeMeta: metav1.TypeMeta{APIVersion: control.GroupVersion.String(), Kind: "Binding"},
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: control.GroupVersion.String(), Kind: "BindingPolicy", Name: policy.Name, UID: policy.UID,
			Controller: new(true), BlockOwnerDeletion: new(false),
		}}},
	}
	b.Spec.Destinations = destinations
	for _, obj := range in.Objects {
		if modulation, ok := Match(policy.Spec.Downsync, obj, in.Namespaces); ok && !isExcluded(obj) {
			b.Spec.Workload = withObject(b.Spec.Workload, obj, modulation)
		}
	}
	slices.SortFunc(b.Spec.Workload.ClusterScope, compareClauses)
	slices.SortFunc(b.Spec.Workload.NamespaceScope, compareClauses)
	return b, nil
}

// Destinations returns the clusters that any of the selectors matches, sorted by name. An invalid
// selector is an error.
func Destinations(selectors []metav1.LabelSelector, clusters map[string]map[string]string) ([]control.Destination, error) {
	var found []control.Destination
	var compiled []labels.Selector
	for i := range selectors {
		s, err := metav1.LabelSelectorAsSelector(&selectors[i])
		if err != nil {
			return nil, fmt.Errorf("clusterSelectors[%d]: %w", i, err)
		}
		compiled = append(compiled, s)
	}
	for name, have := range clusters {
		if slices.ContainsFunc(compiled, func(s labels.Selector) bool { return s.Matches(labels.Set(have)) }) {
			found = append(found, control.Destination{ClusterID: name})
		}
	}
	slices.SortFunc(found, func(a, b control.Destination) int { return cmp.Compare(a.ClusterID, b.ClusterID) })
	return found, nil
}

// withObject adds the clause of an object to a workload.
func withObject(w control.Workload, obj Object, modulation control.DownsyncModulation) control.Workload {
	c := control.DownsyncClause{
		Group: obj.Group, Version: obj.Version, Resource: obj.Resource, Namespace: obj.Namespace, Name: obj.Name,
		ResourceVersion: obj.ResourceVersion, DownsyncModulation: modulation,
	}
	if obj.Namespace == "" {
		w.ClusterScope = append(w.ClusterScope, c)
	} else {
		w.NamespaceScope = append(w.NamespaceScope, c)
	}
	return w
}

func compareClauses(a, b control.DownsyncClause) int {
	return cmp.Or(
		cmp.Compare(resourceText(a), resourceText(b)),
		cmp.Compare(objectName(a), objectName(b)),
		cmp.Compare(a.ResourceVersion, b.ResourceVersion),
	)
}

// resourceText prints group, version and resource as KubeStellar does, which sorts by this text.
func resourceText(c control.DownsyncClause) string {
	return c.Group + "/" + c.Version + ", Resource=" + c.Resource
}

func objectName(c control.DownsyncClause) string {
	if c.Namespace == "" {
		return c.Name
	}
	return c.Namespace + "/" + c.Name
}

// KubeStellar never binds objects of these groups and resources.
var (
	excludedGroups = []string{
		"flowcontrol.apiserver.k8s.io", "discovery.k8s.io", "apiregistration.k8s.io", "coordination.k8s.io", control.Group,
	}
	excludedResources = []string{"events", "nodes", "endpoints", "csinodes", "csistoragecapacities", "workstatuses"}
)

func isExcluded(obj Object) bool {
	return slices.Contains(excludedGroups, obj.Group) || slices.Contains(excludedResources, obj.Resource)
}
