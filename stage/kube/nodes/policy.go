package nodes

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/player"
)

var (
	nodeKind = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	podKind  = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
)

// Policy says which Nodes are managed, and which objects are not played. The zero value manages all
// Nodes.
//
// The fields are the options of kwok's command line: manage-single-node (Names; here there may be
// several), manage-nodes-with-label-selector, manage-nodes-with-annotation-selector,
// disregard-status-with-label-selector and disregard-status-with-annotation-selector.
type Policy struct {
	// Names are the names of the managed Nodes. They must not be combined with selectors.
	Names []string
	// Labels and Annotations select the managed Nodes. If both are given, a Node must match both.
	Labels, Annotations string
	// Disregard selects objects of any kind that are not played. The Pods on a Node that it selects
	// are not played either.
	Disregard Disregard
}

// Disregard selects objects that match either selector. An empty selector matches nothing.
type Disregard struct{ Labels, Annotations string }

// Rules are a [Policy] that has been compiled. They are immutable and safe for concurrent use.
type Rules struct {
	policy      Policy
	names       map[string]bool // nil: not by name
	labels      labels.Selector // nil: any
	annotations labels.Selector
	disregard   struct{ labels, annotations labels.Selector } // nil: none
}

// Compile returns the rules of a policy. The error lists all faults of the policy.
func (p Policy) Compile() (*Rules, error) {
	r := &Rules{policy: p}
	var faults []error
	parse := func(field, text string, into *labels.Selector) {
		if text == "" {
			return
		}
		s, err := labels.Parse(text)
		if err != nil {
			faults = append(faults, fmt.Errorf("nodes: %s %q: %w", field, text, err))
			return
		}
		*into = s
	}
	parse("Policy.Labels", p.Labels, &r.labels)
	parse("Policy.Annotations", p.Annotations, &r.annotations)
	parse("Policy.Disregard.Labels", p.Disregard.Labels, &r.disregard.labels)
	parse("Policy.Disregard.Annotations", p.Disregard.Annotations, &r.disregard.annotations)
	return r, errors.Join(append(faults, r.list(p.Names))...)
}

// list takes in the names.
func (r *Rules) list(names []string) error {
	if len(names) == 0 {
		return nil
	}
	r.names = map[string]bool{}
	for _, name := range names {
		r.names[name] = true
	}
	switch {
	case r.policy.Labels != "" || r.policy.Annotations != "":
		return fmt.Errorf("nodes: Policy.Names %q: not together with selectors", names)
	case r.names[""]:
		return fmt.Errorf("nodes: Policy.Names %q: a Node without a name", names)
	}
	return nil
}

// Manages reports whether a Node is managed.
func (r *Rules) Manages(node *unstructured.Unstructured) bool {
	switch {
	case r.names != nil && !r.names[node.GetName()]:
		return false
	case r.labels != nil && !r.labels.Matches(labels.Set(node.GetLabels())):
		return false
	case r.annotations != nil && !r.annotations.Matches(labels.Set(node.GetAnnotations())):
		return false
	}
	return !r.Disregards(node)
}

// Disregards reports whether an object, of any kind, is not played because of its labels or
// annotations.
func (r *Rules) Disregards(obj *unstructured.Unstructured) bool {
	d := r.disregard
	return d.labels != nil && d.labels.Matches(labels.Set(obj.GetLabels())) ||
		d.annotations != nil && d.annotations.Matches(labels.Set(obj.GetAnnotations()))
}

// Select returns selectors for the Nodes and Pods that have to be watched, for [player.Options].
// Objects that they do not select are not played. Not all objects that they select are played, so
// [LeaseHolder.Plays] is needed as well.
func (r *Rules) Select() map[schema.GroupVersionKind]player.Selection {
	nodes := player.Selection{Labels: r.policy.Labels}
	pods := player.Selection{Fields: fields.OneTermNotEqualSelector("spec.nodeName", "").String()}
	if names := r.policy.Names; len(names) == 1 {
		nodes.Fields = fields.OneTermEqualSelector("metadata.name", names[0]).String()
		pods.Fields = fields.OneTermEqualSelector("spec.nodeName", names[0]).String()
	}
	return map[schema.GroupVersionKind]player.Selection{nodeKind: nodes, podKind: pods}
}

// certain reports whether the policy alone decides if a Node that does not exist was managed, and
// returns its decision.
func (r *Rules) certain(name string) (managed, certain bool) {
	switch {
	case r.names != nil:
		return r.names[name], true
	case r.labels != nil || r.annotations != nil:
		return false, false
	}
	return true, true
}

// remembered is how many deleted Nodes are remembered.
const remembered = 10_000

// names are the most recent names, at most a given number.
type names struct {
	known map[string]bool
	order []string
}

func (n *names) add(name string) {
	if n.known[name] {
		return
	}
	if n.known == nil {
		n.known = map[string]bool{}
	}
	if len(n.order) == remembered {
		delete(n.known, n.order[0])
		n.order = slices.Delete(n.order, 0, 1)
	}
	n.known[name] = true
	n.order = append(n.order, name)
}

func (n *names) has(name string) bool { return n.known[name] }
