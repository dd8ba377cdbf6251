package scheduling

import (
	"math"
	"slices"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
)

const (
	labelHostname = "kubernetes.io/hostname"
	labelZone     = "topology.kubernetes.io/zone"
)

// A spreadConstraint is one of spec.topologySpreadConstraints.
type spreadConstraint struct {
	key                 string
	maxSkew, minDomains int64
	selector            selector
	soft                bool // ScheduleAnyway
	ignoreAffinity      bool // nodeAffinityPolicy
	honorTaints         bool // nodeTaintsPolicy
}

func readSpreadConstraints(spec, labels map[string]any) (all []spreadConstraint) {
	for _, m := range fields.Maps(spec, "topologySpreadConstraints") {
		c := spreadConstraint{
			key: fields.String(m, "topologyKey"), maxSkew: fields.Int64(m, 0, "maxSkew"), minDomains: fields.Int64(m, 1, "minDomains"),
			selector:       readSelector(fields.Map(m, "labelSelector")),
			soft:           fields.String(m, "whenUnsatisfiable") == "ScheduleAnyway",
			ignoreAffinity: fields.String(m, "nodeAffinityPolicy") == "Ignore",
			honorTaints:    fields.String(m, "nodeTaintsPolicy") == "Honor",
		}
		c.selector.requirements = append(c.selector.requirements, sameLabels(m, "matchLabelKeys", "In", labels)...)
		all = append(all, c)
	}
	return all
}

// counts reports whether the Pods of a Node count for a Pod.
func (s *spreadConstraint) counts(p *PodInfo, n *NodeInfo) bool {
	if !s.ignoreAffinity && !p.matchesNode(n.Name, n.labels) {
		return false
	}
	return !s.honorTaints || !slices.ContainsFunc(n.taints, func(t Taint) bool { return !p.Tolerates(t) })
}

// countOn counts the Pods of a Node that are selected.
func (s *spreadConstraint) countOn(n *NodeInfo, namespace string) int64 {
	if s.selector.isEmpty() {
		return 0
	}
	return n.selected(&s.selector, namespace)
}

// hasKeys reports whether a Node is in a domain of each constraint.
func hasKeys(constraints []spreadConstraint, n *NodeInfo) bool {
	return !slices.ContainsFunc(constraints, func(s spreadConstraint) bool { _, ok := n.labels[s.key]; return !ok })
}

// podTopologySpread keeps a Pod from domains with too many of the Pods that its constraints select,
// and prefers domains with few. A Pod without constraints that belongs to a Service or to a
// controller is spread softly over hosts and zones.
type podTopologySpread struct{}

func (podTopologySpread) Name() string { return "PodTopologySpread" }

// spreadCounts are the data for the Filter.
type spreadCounts struct {
	constraints []spreadConstraint
	byValue     []map[string]int64 // of each constraint: Pods by domain
	least       []int64            // of each constraint: the lowest of byValue; -1: not computed yet
}

// spreadMemory is the data of the plugin.
type spreadMemory struct {
	filter *spreadCounts
	score  *spreadScores
}

func (p podTopologySpread) memory(c *Cycle) *spreadMemory {
	m, ok := c.Read(p).(*spreadMemory)
	if !ok {
		m = &spreadMemory{}
		c.Write(p, m)
	}
	return m
}

func (p podTopologySpread) PreFilter(c *Cycle) Status {
	hard := hardConstraints(c.Pod)
	if len(hard) == 0 {
		return Status{Skip: true}
	}
	s := &spreadCounts{constraints: hard, byValue: make([]map[string]int64, len(hard)), least: make([]int64, len(hard))}
	for i := range hard {
		s.byValue[i], s.least[i] = map[string]int64{}, -1
	}
	for _, n := range c.Nodes {
		if !hasKeys(hard, n) {
			continue
		}
		for i := range hard {
			if hard[i].counts(c.Pod, n) {
				s.byValue[i][fields.String(n.labels, hard[i].key)] += hard[i].countOn(n, c.Pod.namespace)
			}
		}
	}
	p.memory(c).filter = s
	return Status{}
}

func (p podTopologySpread) AddPod(c *Cycle, other *PodInfo, n *NodeInfo) { p.update(c, other, n, 1) }

func (p podTopologySpread) RemovePod(c *Cycle, other *PodInfo, n *NodeInfo) {
	p.update(c, other, n, -1)
}

func (p podTopologySpread) update(c *Cycle, other *PodInfo, n *NodeInfo, times int64) {
	s := p.memory(c).filter
	if s == nil || other.namespace != c.Pod.namespace || !hasKeys(s.constraints, n) {
		return
	}
	for i := range s.constraints {
		if constraint := &s.constraints[i]; constraint.selector.matches(other.labels) && constraint.counts(c.Pod, n) {
			s.byValue[i][fields.String(n.labels, constraint.key)] += times
			s.least[i] = -1
		}
	}
}

// minimum is the number of Pods in the emptiest domain, or 0 if there are too few domains.
func (s *spreadCounts) minimum(i int) int64 {
	if int64(len(s.byValue[i])) < s.constraints[i].minDomains {
		return 0
	}
	if s.least[i] < 0 {
		s.least[i] = math.MaxInt64
		for _, count := range s.byValue[i] {
			s.least[i] = min(s.least[i], count)
		}
	}
	return s.least[i]
}

func (p podTopologySpread) Filter(c *Cycle, n *NodeInfo) Status {
	const reason = "node(s) didn't match pod topology spread constraints"
	s := p.memory(c).filter
	for i := range s.constraints {
		constraint := &s.constraints[i]
		value, ok := n.labels[constraint.key].(string)
		if !ok {
			return unresolvable(reason + " (missing required label)")
		}
		count := s.byValue[i][value]
		if constraint.selector.matches(c.Pod.labels) {
			count++
		}
		if count-s.minimum(i) > constraint.maxSkew {
			return Status{Reasons: []string{reason}}
		}
	}
	return Status{}
}
