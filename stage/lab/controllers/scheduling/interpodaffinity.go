package scheduling

import "slices"

// interPodAffinity implements Pod affinity. A Pod goes only to domains with the Pods that its
// required affinity wants. It goes to no domain with Pods that its required anti-affinity excludes,
// or whose required anti-affinity excludes it. It prefers Nodes by the preferred terms.
type interPodAffinity struct{}

func (interPodAffinity) Name() string { return "InterPodAffinity" }

// affinityCounts are the counts over all Nodes for the Filter.
type affinityCounts struct {
	required, requiredAnti []affinityTerm // of the Pod
	namespaceLabels        map[string]any // of the Pod's namespace
	affinity               topologyCounts // of Pods that all required terms match
	antiAffinity           topologyCounts // of Pods that a required anti-affinity term matches
	existing               topologyCounts // of Pods whose required anti-affinity terms match the Pod
}

func (p interPodAffinity) PreFilter(c *Cycle) Status {
	a := &c.Pod.affinity
	s := &affinityCounts{
		required: withNamespaces(c.Cache, a.required), requiredAnti: withNamespaces(c.Cache, a.requiredAnti),
		affinity: topologyCounts{}, antiAffinity: topologyCounts{}, existing: topologyCounts{},
	}
	own := len(s.required)+len(s.requiredAnti) > 0
	for _, n := range c.Nodes {
		for _, other := range n.withAntiAffinity {
			s.countExisting(c, other, n, 1)
		}
		if own {
			for _, other := range n.Pods {
				s.countOwn(other, n, 1)
			}
		}
	}
	c.Write(p, s)
	return Status{Skip: !own && len(s.existing) == 0}
}

func (s *affinityCounts) countExisting(c *Cycle, other *PodInfo, n *NodeInfo, times int64) {
	if s.namespaceLabels == nil && len(other.affinity.requiredAnti) > 0 {
		s.namespaceLabels = namespaceLabels(c.Cache, c.Pod.namespace)
	}
	for i := range other.affinity.requiredAnti {
		if t := &other.affinity.requiredAnti[i]; t.matches(c.Pod, s.namespaceLabels) {
			s.existing.add(n, t.topologyKey, times)
		}
	}
}

func (s *affinityCounts) countOwn(other *PodInfo, n *NodeInfo, times int64) {
	if matchesAllTerms(s.required, other) {
		for _, t := range s.required {
			s.affinity.add(n, t.topologyKey, times)
		}
	}
	for i := range s.requiredAnti {
		if t := &s.requiredAnti[i]; t.matches(other, nil) {
			s.antiAffinity.add(n, t.topologyKey, times)
		}
	}
}

func matchesAllTerms(terms []affinityTerm, p *PodInfo) bool {
	return len(terms) > 0 && !slices.ContainsFunc(terms, func(t affinityTerm) bool { return !t.matches(p, nil) })
}

func (p interPodAffinity) update(c *Cycle, other *PodInfo, n *NodeInfo, times int64) {
	if s, ok := c.Read(p).(*affinityCounts); ok {
		s.countExisting(c, other, n, times)
		s.countOwn(other, n, times)
	}
}

func (p interPodAffinity) AddPod(c *Cycle, other *PodInfo, n *NodeInfo) { p.update(c, other, n, 1) }

func (p interPodAffinity) RemovePod(c *Cycle, other *PodInfo, n *NodeInfo) { p.update(c, other, n, -1) }

func (p interPodAffinity) Filter(c *Cycle, n *NodeInfo) Status {
	s := c.Read(p).(*affinityCounts)
	switch {
	case !s.satisfiesAffinity(c.Pod, n):
		return unresolvable("node(s) didn't match pod affinity rules")
	case !s.satisfiesAntiAffinity(n):
		return Status{Reasons: []string{"node(s) didn't match pod anti-affinity rules"}}
	case !s.satisfiesExisting(n):
		return Status{Reasons: []string{"node(s) didn't satisfy existing pods anti-affinity rules"}}
	}
	return Status{}
}

// satisfiesAffinity: each term has to have a match in the Node's domain. The first of Pods that want
// to be together may go anywhere where there are domains.
func (s *affinityCounts) satisfiesAffinity(p *PodInfo, n *NodeInfo) bool {
	all := true
	for _, t := range s.required {
		count, inDomain := s.affinity.of(n, t.topologyKey)
		if !inDomain {
			return false
		}
		all = all && count > 0
	}
	return all || len(s.affinity) == 0 && matchesAllTerms(s.required, p)
}

func (s *affinityCounts) satisfiesAntiAffinity(n *NodeInfo) bool {
	for _, t := range s.requiredAnti {
		if count, _ := s.antiAffinity.of(n, t.topologyKey); count > 0 {
			return false
		}
	}
	return true
}

func (s *affinityCounts) satisfiesExisting(n *NodeInfo) bool {
	for pair := range s.existing {
		if n.labels[pair.key] == pair.value {
			return false
		}
	}
	return true
}

// affinityScores are the weights by domain for the Score.
type affinityScores struct{ weights topologyCounts }

func (p interPodAffinity) PreScore(c *Cycle, _ []*NodeInfo) Status {
	a := &c.Pod.affinity
	s := podAffinity{preferred: withNamespaces(c.Cache, a.preferred), preferredAnti: withNamespaces(c.Cache, a.preferredAnti)}
	weights := map[topologyPair]int64{}
	var labels map[string]any // of the Pod's namespace
	for _, n := range c.Nodes {
		others := n.withAffinity
		if s.hasTerms() {
			others = n.Pods
		}
		for _, other := range others {
			if labels == nil {
				labels = namespaceLabels(c.Cache, c.Pod.namespace)
			}
			weigh(weights, s.preferred, other, nil, n, 1)
			weigh(weights, s.preferredAnti, other, nil, n, -1)
			weigh(weights, other.affinity.required, c.Pod, labels, n, 1)
			weigh(weights, other.affinity.preferred, c.Pod, labels, n, 1)
			weigh(weights, other.affinity.preferredAnti, c.Pod, labels, n, -1)
		}
	}
	c.Write(p, affinityScores{weights})
	return Status{Skip: len(weights) == 0}
}

// weigh adds the weights of the terms that match a Pod to their domains. Required terms weigh 1.
func weigh(weights map[topologyPair]int64, terms []affinityTerm, p *PodInfo, namespaceLabels map[string]any, n *NodeInfo, times int64) {
	for i := range terms {
		t := &terms[i]
		if !t.matches(p, namespaceLabels) {
			continue
		}
		if value, ok := n.labels[t.topologyKey].(string); ok {
			weights[topologyPair{t.topologyKey, value}] += times * max(t.weight, 1)
		}
	}
}

func (p interPodAffinity) Score(c *Cycle, n *NodeInfo) (sum int64) {
	for pair, weight := range c.Read(p).(affinityScores).weights {
		if n.labels[pair.key] == pair.value {
			sum += weight
		}
	}
	return sum
}

func (interPodAffinity) NormalizeScore(_ *Cycle, scores []int64) {
	least, most := slices.Min(scores), slices.Max(scores)
	for i, s := range scores {
		scores[i] = 0
		if most > least {
			scores[i] = int64(maxScore * (float64(s-least) / float64(most-least)))
		}
	}
}
