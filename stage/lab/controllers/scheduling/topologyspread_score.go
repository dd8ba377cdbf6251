package scheduling

import (
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/selectors"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// spreadScores are the data for the Score.
type spreadScores struct {
	constraints []spreadConstraint
	byValue     []map[string]*int64 // of each constraint except the one for hosts: Pods by domain
	weights     []float64           // of each constraint: more for more domains
	all         bool                // a Node has to be in a domain of each constraint
	ignored     []bool              // of the Nodes that are scored: it is not
}

func (p podTopologySpread) PreScore(c *Cycle, nodes []*NodeInfo) Status {
	s := &spreadScores{all: len(c.Pod.spread) > 0}
	for _, constraint := range c.Pod.spread {
		if constraint.soft {
			s.constraints = append(s.constraints, constraint)
		}
	}
	if len(c.Pod.spread) == 0 {
		s.constraints = defaultConstraints(c)
	}
	if len(s.constraints) == 0 {
		return Status{Skip: true}
	}
	s.findDomains(nodes)
	s.countPods(c)
	p.memory(c).score = s
	return Status{}
}

// findDomains finds the domains of the Nodes on which the Pod fits.
func (s *spreadScores) findDomains(nodes []*NodeInfo) {
	s.byValue, s.weights = make([]map[string]*int64, len(s.constraints)), make([]float64, len(s.constraints))
	s.ignored = make([]bool, len(nodes))
	scored := 0
	for i := range s.byValue {
		s.byValue[i] = map[string]*int64{}
	}
	for j, n := range nodes {
		if s.all && !hasKeys(s.constraints, n) {
			s.ignored[j] = true
			continue
		}
		scored++
		for i := range s.constraints {
			if s.constraints[i].key == labelHostname {
				continue
			}
			if value, _ := n.labels[s.constraints[i].key].(string); s.byValue[i][value] == nil {
				s.byValue[i][value] = new(int64)
			}
		}
	}
	for i := range s.constraints {
		domains := len(s.byValue[i])
		if s.constraints[i].key == labelHostname {
			domains = scored
		}
		s.weights[i] = math.Log(float64(domains + 2))
	}
}

// countPods counts the Pods of the domains, on all Nodes.
func (s *spreadScores) countPods(c *Cycle) {
	for _, n := range c.Nodes {
		if s.all && !hasKeys(s.constraints, n) {
			continue
		}
		for i := range s.constraints {
			constraint := &s.constraints[i]
			if constraint.key == labelHostname {
				continue // its Pods are counted in Score
			}
			value, _ := n.labels[constraint.key].(string)
			if count := s.byValue[i][value]; count != nil && constraint.counts(c.Pod, n) {
				*count += constraint.countOn(n, c.Pod.namespace)
			}
		}
	}
}

// Score is the number of Pods in the Node's domains.
func (p podTopologySpread) Score(c *Cycle, n *NodeInfo) int64 {
	s := p.memory(c).score
	if s.all && !hasKeys(s.constraints, n) {
		return 0
	}
	var sum float64
	for i := range s.constraints {
		constraint := &s.constraints[i]
		value, ok := n.labels[constraint.key].(string)
		if !ok {
			continue
		}
		var count int64
		if constraint.key == labelHostname {
			count = constraint.countOn(n, c.Pod.namespace)
		} else {
			count = *s.byValue[i][value]
		}
		sum += float64(count)*s.weights[i] + float64(constraint.maxSkew-1)
	}
	return int64(math.Round(sum))
}

func (p podTopologySpread) NormalizeScore(c *Cycle, scores []int64) {
	ignored := p.memory(c).score.ignored
	least, most := int64(math.MaxInt64), int64(0)
	for i, score := range scores {
		if !ignored[i] {
			least, most = min(least, score), max(most, score)
		}
	}
	for i, score := range scores {
		switch {
		case ignored[i]:
			scores[i] = 0
		case most == 0:
			scores[i] = maxScore
		default:
			scores[i] = maxScore * (most + least - score) / most
		}
	}
}

// defaultConstraints spread the Pods of a Service, a ReplicationController, a ReplicaSet or a
// StatefulSet.
func defaultConstraints(c *Cycle) []spreadConstraint {
	selects := selector{requirements: defaultRequirements(c)}
	if selects.isEmpty() {
		return nil
	}
	return []spreadConstraint{
		{key: labelHostname, maxSkew: 3, soft: true, selector: selects},
		{key: labelZone, maxSkew: 5, soft: true, selector: selects},
	}
}

// servicesBySelector finds the Services that select a Pod.
var servicesBySelector = &reconcile.SelectorIndex{Kind: kinds.Service, Selector: func(service *unstructured.Unstructured) labels.Selector {
	return selectors.Selector{MatchLabels: fields.Map(service.Object, "spec", "selector")}.Labels()
}}

func defaultRequirements(c *Cycle) (all []requirement) {
	for _, service := range c.Cache.Selecting(servicesBySelector, c.Pod.Pod) {
		all = append(all, exactly(fields.Map(service.Object, "spec", "selector"))...)
	}
	owner := metav1.GetControllerOfNoCopy(c.Pod.Pod)
	if owner == nil {
		return all
	}
	kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
	switch kind {
	case kinds.ReplicationController, kinds.ReplicaSet, kinds.StatefulSet:
	default:
		return all
	}
	obj := c.Cache.Get(kind, types.NamespacedName{Namespace: c.Pod.namespace, Name: owner.Name})
	if obj == nil {
		return all
	}
	if kind == kinds.ReplicationController {
		return append(all, exactly(fields.Map(obj.Object, "spec", "selector"))...)
	}
	return append(all, readSelector(fields.Map(obj.Object, "spec", "selector")).requirements...)
}
