package kubestellar

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/stagecraft-go/stagecraft/staged/control"
)

// An Object is the part of a workload object that matching reads.
type Object struct {
	Group     string // "" for core
	Version   string
	Resource  string // the plural name, in lower case
	Namespace string // "" for an object that has none
	Name      string
	Labels    map[string]string
	// ResourceVersion goes into the Binding.
	ResourceVersion string
}

// Namespaces are the labels of the namespaces that exist, by name.
type Namespaces map[string]map[string]string

// Match returns whether any of the clauses matches an object, and how the matching clauses together
// want the object to be treated. An invalid label selector matches nothing.
func Match(clauses []control.DownsyncPolicyClause, obj Object, namespaces Namespaces) (control.DownsyncModulation, bool) {
	var all control.DownsyncModulation
	matched := false
	for i := range clauses {
		if matches(&clauses[i], obj, namespaces) {
			all = merge(all, clauses[i].DownsyncModulation)
			matched = true
		}
	}
	return all, matched
}

func matches(c *control.DownsyncPolicyClause, obj Object, namespaces Namespaces) bool {
	return (c.APIGroup == nil || *c.APIGroup == obj.Group) &&
		listed(c.Resources, obj.Resource) &&
		listed(c.Namespaces, obj.Namespace) &&
		listed(c.ObjectNames, obj.Name) &&
		inNamespace(c.NamespaceSelectors, obj.Namespace, namespaces) &&
		(len(c.ObjectSelectors) == 0 || anySelector(c.ObjectSelectors, obj.Labels))
}

func listed(names []string, name string) bool {
	return len(names) == 0 || slices.Contains(names, "*") || slices.Contains(names, name)
}

// inNamespace reports whether one of the selectors matches the labels of a namespace. An empty
// selector matches every object, even one without a namespace.
func inNamespace(selectors []metav1.LabelSelector, name string, namespaces Namespaces) bool {
	if len(selectors) == 0 || slices.ContainsFunc(selectors, isEmpty) {
		return true
	}
	have, exists := namespaces[name]
	return exists && name != "" && anySelector(selectors, have)
}

func isEmpty(s metav1.LabelSelector) bool {
	return len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0
}

func anySelector(selectors []metav1.LabelSelector, have map[string]string) bool {
	return slices.ContainsFunc(selectors, func(s metav1.LabelSelector) bool {
		selector, err := metav1.LabelSelectorAsSelector(&s)
		return err == nil && selector.Matches(labels.Set(have))
	})
}

func merge(a, b control.DownsyncModulation) control.DownsyncModulation {
	collectors := slices.Concat(a.StatusCollectors, b.StatusCollectors)
	slices.Sort(collectors)
	return control.DownsyncModulation{
		CreateOnly:                 a.CreateOnly || b.CreateOnly,
		StatusCollectors:           slices.Compact(collectors),
		WantSingletonReportedState: a.WantSingletonReportedState || b.WantSingletonReportedState,
		WantMultiWECReportedState:  a.WantMultiWECReportedState || b.WantMultiWECReportedState,
	}
}
