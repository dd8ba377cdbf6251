package scheduling

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// podAffinity says next to which Pods a Pod wants to run, or not.
type podAffinity struct {
	required, requiredAnti   []affinityTerm
	preferred, preferredAnti []affinityTerm
}

func (a *podAffinity) hasTerms() bool {
	return len(a.required)+len(a.requiredAnti)+len(a.preferred)+len(a.preferredAnti) > 0
}

// An affinityTerm selects Pods, and says how far the domain reaches in which they matter.
type affinityTerm struct {
	topologyKey       string
	selector          selector
	namespaces        []string
	namespaceSelector selector
	weight            int64 // of a preferred term
}

func readPodAffinity(namespace string, labels, affinity map[string]any) podAffinity {
	read := func(kind, field string) (terms []affinityTerm) {
		for _, m := range fields.Maps(affinity, kind, field) {
			weight := fields.Int64(m, 0, "weight")
			if field == preferredTerms {
				m = fields.Map(m, "podAffinityTerm")
			}
			term := readAffinityTerm(namespace, labels, m)
			term.weight = weight
			terms = append(terms, term)
		}
		return terms
	}
	return podAffinity{
		required: read("podAffinity", requiredTerms), requiredAnti: read("podAntiAffinity", requiredTerms),
		preferred: read("podAffinity", preferredTerms), preferredAnti: read("podAntiAffinity", preferredTerms),
	}
}

const (
	requiredTerms  = "requiredDuringSchedulingIgnoredDuringExecution"
	preferredTerms = "preferredDuringSchedulingIgnoredDuringExecution"
)

// readAffinityTerm reads a term of a Pod. Without namespaces, the term is about the Pod's own
// namespace. The values of matchLabelKeys and mismatchLabelKeys come from the Pod's labels, as in
// the API server.
func readAffinityTerm(namespace string, labels, m map[string]any) affinityTerm {
	namespaces, _ := object.Strings(m, "namespaces")
	t := affinityTerm{
		topologyKey: fields.String(m, "topologyKey"), selector: readSelector(fields.Map(m, "labelSelector")),
		namespaces: namespaces, namespaceSelector: readSelector(fields.Map(m, "namespaceSelector")),
	}
	if len(namespaces) == 0 && t.namespaceSelector.nothing {
		t.namespaces = []string{namespace}
	}
	t.selector.requirements = append(t.selector.requirements, sameLabels(m, "matchLabelKeys", "In", labels)...)
	t.selector.requirements = append(t.selector.requirements, sameLabels(m, "mismatchLabelKeys", "NotIn", labels)...)
	return t
}

// sameLabels requires the label values for the keys in a field.
func sameLabels(m map[string]any, field, operator string, labels map[string]any) (all []requirement) {
	keys, _ := object.Strings(m, field)
	for _, key := range keys {
		if value, ok := labels[key].(string); ok {
			all = append(all, requirement{key, operator, []string{value}})
		}
	}
	return all
}

// matches reports whether the term selects a Pod whose namespace has these labels.
func (t *affinityTerm) matches(p *PodInfo, namespaceLabels map[string]any) bool {
	return (slices.Contains(t.namespaces, p.namespace) || t.namespaceSelector.matches(namespaceLabels)) && t.selector.matches(p.labels)
}

// withNamespaces returns the terms with the namespaces selected by their namespaceSelectors.
func withNamespaces(cache *reconcile.Cache, terms []affinityTerm) []affinityTerm {
	named := slices.Clone(terms)
	for i := range named {
		t := &named[i]
		if t.namespaceSelector.nothing {
			continue
		}
		t.namespaces = slices.Clone(t.namespaces)
		for _, namespace := range cache.List(kinds.Namespace, "") {
			if t.namespaceSelector.matches(namespaceLabels(cache, namespace.GetName())) {
				t.namespaces = append(t.namespaces, namespace.GetName())
			}
		}
		t.namespaceSelector = selector{nothing: true}
	}
	return named
}

// namespaceLabels returns the labels of a namespace, with the label that the API server adds.
func namespaceLabels(cache *reconcile.Cache, name string) map[string]any {
	namespace := cache.Get(kinds.Namespace, types.NamespacedName{Name: name})
	if namespace == nil {
		return nil
	}
	labels := map[string]any{"kubernetes.io/metadata.name": name}
	maps.Copy(labels, labelsOf(namespace))
	return labels
}

// A topologyPair is a domain: the Nodes whose label key has a value.
type topologyPair struct{ key, value string }

// topologyCounts count Pods, or weights, by domain. Domains with 0 are left out.
type topologyCounts map[topologyPair]int64

func (t topologyCounts) add(n *NodeInfo, key string, times int64) {
	value, ok := n.labels[key].(string)
	if !ok {
		return
	}
	pair := topologyPair{key, value}
	if t[pair] += times; t[pair] == 0 {
		delete(t, pair)
	}
}

// of returns the count of a Node's domain. It returns false if the Node is in no domain.
func (t topologyCounts) of(n *NodeInfo, key string) (int64, bool) {
	value, ok := n.labels[key].(string)
	return t[topologyPair{key, value}], ok
}
