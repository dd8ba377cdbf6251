package controllers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/requests"
)

// A podRequest is what a Pod asks of a node.
type podRequest struct {
	namespace   string
	selector    map[string]any
	terms       []map[string]any // of the required node affinity; one has to match
	limited     bool             // there is a required node affinity
	tolerations []map[string]any
	claims      []string
	resources   requests.Amounts
	basics      basics // of them, at least what is assumed
}

func newPodRequest(obj *unstructured.Unstructured) podRequest {
	spec := tree(obj.Object, "spec")
	required := tree(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
	resources := requests.Of(obj.Object)
	return podRequest{
		namespace:   obj.GetNamespace(),
		selector:    tree(spec, "nodeSelector"),
		terms:       trees(required, "nodeSelectorTerms"),
		limited:     required != nil,
		tolerations: trees(spec, "tolerations"),
		claims:      claimNames(obj),
		resources:   resources,
		basics:      basics{cpu: max(resources["cpu"], assumedCPU), memory: max(resources["memory"], assumedMemory)},
	}
}

// signature is the same for Pods that ask for the same.
func (r *podRequest) signature() string {
	terms, tolerations := make([]any, len(r.terms)), make([]any, len(r.tolerations))
	for i, t := range r.terms {
		terms[i] = t
	}
	for i, t := range r.tolerations {
		tolerations[i] = t
	}
	asked := []any{r.limited, r.selector, terms, tolerations, plain(r.resources)}
	if len(r.claims) > 0 {
		asked = append(asked, r.namespace, r.claims)
	}
	data, err := object.AppendJSON(nil, asked)
	if err != nil {
		return err.Error() // values that are no JSON never get into an object
	}
	return string(data)
}

// A filter says what is in the way of a Pod on a node. Nothing means that it fits.
type filter func(*nodeRoom, *podRequest) (reasons []string, final bool)

// filters are asked in this order, which is that of kube-scheduler; the first one that objects is told. A final objection stands whoever else
// might leave the node.
var filters = []filter{cordoned, tainted, unwanted, full}

func cordoned(n *nodeRoom, r *podRequest) ([]string, bool) {
	if n.cordoned && !tolerated(r.tolerations, map[string]any{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}) {
		return []string{"node(s) were unschedulable"}, true
	}
	return nil, false
}

func tainted(n *nodeRoom, r *podRequest) ([]string, bool) {
	for _, taint := range n.taints {
		if !tolerated(r.tolerations, taint) {
			return []string{"node(s) had untolerated taint(s)"}, true
		}
	}
	return nil, false
}

func unwanted(n *nodeRoom, r *podRequest) ([]string, bool) {
	if contains(n.labels, r.selector) && (!r.limited || slices.ContainsFunc(r.terms, n.matches)) {
		return nil, false
	}
	return []string{"node(s) didn't match Pod's node affinity/selector"}, true
}

// matches reports whether a node matches a node selector term. An empty term matches nothing.
func (n *nodeRoom) matches(term map[string]any) bool {
	labels, fields := trees(term, "matchExpressions"), trees(term, "matchFields")
	for _, e := range labels {
		if !termMatches(n.labels, e) {
			return false
		}
	}
	for _, e := range fields {
		if !termMatches(map[string]any{"metadata.name": n.name}, e) {
			return false
		}
	}
	return len(labels)+len(fields) > 0
}

func full(n *nodeRoom, r *podRequest) (reasons []string, final bool) {
	if n.pods+1 > n.size.pods {
		reasons = append(reasons, "Too many pods")
	}
	final = true
	for name, wants := range r.resources {
		if wants > n.allocatable[name]-n.used[name] {
			reasons = append(reasons, "Insufficient "+name)
		}
		final = final && wants <= n.allocatable[name]
	}
	return reasons, !final
}

// tolerated reports whether one of the tolerations is for a taint.
func tolerated(tolerations []map[string]any, taint map[string]any) bool {
	return slices.ContainsFunc(tolerations, func(t map[string]any) bool {
		key, effect := text(t, "key"), text(t, "effect")
		switch {
		case effect != "" && effect != text(taint, "effect"), key != "" && key != text(taint, "key"):
			return false
		case text(t, "operator") == "Exists":
			return true
		}
		return key != "" && text(t, "value") == text(taint, "value")
	})
}

// inTheWay asks the filters what keeps a Pod from a node. Nothing means that it fits.
func inTheWay(n *nodeRoom, r *podRequest) (reasons []string, final bool) {
	for _, f := range filters {
		if reasons, final = f(n, r); len(reasons) > 0 {
			return reasons, final
		}
	}
	return nil, false
}

// An unfitError says why a Pod fits on no node.
type unfitError struct {
	reasons map[string]int // and on how many nodes
	final   int            // nodes on which preemption would not help
	before  string         // why nodes were not even looked at
}

func (e *unfitError) Error() string { return "the pod fits on no node" }

// count adds what is in the way on one node, or takes it away.
func (e *unfitError) count(p *place, sign int) {
	for _, reason := range p.reasons {
		e.reasons[reason] += sign
	}
	if p.final && len(p.reasons) > 0 {
		e.final += sign
	}
}

// message is what kube-scheduler writes into the condition.
func (e *unfitError) message(nodes int) string {
	if nodes == 0 {
		return "no nodes available to schedule pods"
	}
	s := fmt.Sprintf("0/%d nodes are available:", nodes)
	if e.before != "" {
		return fmt.Sprintf("%s %s. no new claims to deallocate, preemption: 0/%d nodes are available: %d Preemption is not helpful for scheduling.", s, e.before, nodes, nodes)
	}
	victims := map[string]int{"No preemption victims found for incoming pod": nodes - e.final, "Preemption is not helpful for scheduling": e.final}
	return fmt.Sprintf("%s %s. no new claims to deallocate, preemption: %s %s.", s, histogram(e.reasons), s, histogram(victims))
}

func histogram(reasons map[string]int) string {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		if n := reasons[reason]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, reason))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
