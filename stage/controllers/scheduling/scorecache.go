package scheduling

import (
	"cmp"
	"container/heap"
)

// A scoreCache has the Nodes in the order of their scores for the classes of Pods that were
// scheduled lately, so that the next Pod of a class costs much less than a look at every Node: only
// the Nodes that have changed since are filtered and scored.
type scoreCache struct {
	bySignature map[string]*nodeScores
	changes     []*NodeInfo // the latest changes of Nodes
	dropped     uint64      // how many changes there were before these
	lookups     uint64      // how often best was called
}

// maxScoredClasses is how many classes are kept.
const maxScoredClasses = 64

// nodeScores are the Nodes as the Pods of one class see them. When a class is met for the first
// time, after which no second Pod may come, every Node is looked at and nothing is kept.
type nodeScores struct {
	pod        *PodInfo
	fitting    scoreHeap                // the Nodes that the Pods fit on
	byNode     map[*NodeInfo]*nodeScore // all Nodes; nil if nothing is kept yet
	unfit      fitError                 // about the other Nodes
	applied    uint64                   // how many changes of Nodes were taken in
	lastLookup uint64
}

// A nodeScore is one Node in nodeScores.
type nodeScore struct {
	node   *NodeInfo
	status Status
	score  float64
	index  int // in the heap; -1 if the Pods do not fit
}

func newScoreCache() scoreCache { return scoreCache{bySignature: map[string]*nodeScores{}} }

// changed notes that a Node, or what is free on it, has changed. When the changes are more than the
// Nodes, they are dropped, and all Nodes are looked at anew.
func (c *scoreCache) changed(n *NodeInfo, nodes int) {
	if len(c.changes) > 4*nodes+1024 {
		c.dropped += uint64(len(c.changes))
		c.changes = c.changes[:0]
	}
	c.changes = append(c.changes, n)
}

// best returns the Node for the next Pod of a class. The error is a fitError.
func (c *scoreCache) best(class *podClass, nodes map[string]*NodeInfo) (*NodeInfo, error) {
	c.lookups++
	s := c.bySignature[class.signature]
	if s == nil {
		c.makeRoom()
		c.bySignature[class.signature] = &nodeScores{pod: class.pod, lastLookup: c.lookups}
		return bestOf(nodes, class.pod)
	}
	s.lastLookup = c.lookups
	if s.byNode == nil || s.applied < c.dropped {
		s.reset(nodes)
	} else {
		for _, n := range c.changes[s.applied-c.dropped:] {
			s.update(n)
		}
	}
	s.applied = c.dropped + uint64(len(c.changes))
	return s.best()
}

// makeRoom drops the class that was not scheduled for the longest time, if there are too many.
func (c *scoreCache) makeRoom() {
	if len(c.bySignature) < maxScoredClasses {
		return
	}
	oldest, least := "", c.lookups+1
	for signature, s := range c.bySignature {
		if s.lastLookup < least {
			oldest, least = signature, s.lastLookup
		}
	}
	delete(c.bySignature, oldest)
}

// bestOf filters and scores every Node. The error is a fitError.
func bestOf(nodes map[string]*NodeInfo, p *PodInfo) (*NodeInfo, error) {
	var best nodeScore
	unfit := &fitError{reasons: map[string]int{}}
	for _, n := range nodes {
		if n.Node == nil {
			continue
		}
		s := nodeScore{node: n, status: RunFilters(p, n)}
		if !s.status.Fits() {
			unfit.count(s.status, 1)
			continue
		}
		if s.score = leastAllocated(p, n); best.node == nil || s.before(&best) {
			best = s
		}
	}
	if best.node == nil {
		return nil, unfit
	}
	return best.node, nil
}

// before puts the highest score first, and of equal scores the first name.
func (s *nodeScore) before(other *nodeScore) bool {
	return cmp.Or(cmp.Compare(other.score, s.score), cmp.Compare(s.node.Name, other.node.Name)) < 0
}

func (s *nodeScores) reset(nodes map[string]*NodeInfo) {
	s.fitting, s.byNode = nil, make(map[*NodeInfo]*nodeScore, len(nodes))
	s.unfit = fitError{reasons: map[string]int{}}
	for _, n := range nodes {
		s.update(n)
	}
}

// update filters and scores one Node again.
func (s *nodeScores) update(n *NodeInfo) {
	entry := s.byNode[n]
	if entry != nil {
		s.unfit.count(entry.status, -1)
	}
	if n.Node == nil {
		s.takeOut(entry)
		delete(s.byNode, n)
		return
	}
	if entry == nil {
		entry = &nodeScore{node: n, index: -1}
		s.byNode[n] = entry
	}
	entry.status = RunFilters(s.pod, n)
	s.unfit.count(entry.status, 1)
	if !entry.status.Fits() {
		s.takeOut(entry)
		return
	}
	entry.score = leastAllocated(s.pod, n)
	if entry.index < 0 {
		heap.Push(&s.fitting, entry)
	} else {
		heap.Fix(&s.fitting, entry.index)
	}
}

// takeOut takes a Node out of those that fit.
func (s *nodeScores) takeOut(entry *nodeScore) {
	if entry != nil && entry.index >= 0 {
		heap.Remove(&s.fitting, entry.index)
	}
}

func (s *nodeScores) best() (*NodeInfo, error) {
	if len(s.fitting) == 0 {
		return nil, &s.unfit
	}
	return s.fitting[0].node, nil
}

// A scoreHeap is a heap.Interface with the best Node at the top.
type scoreHeap []*nodeScore

func (h scoreHeap) Len() int { return len(h) }

func (h scoreHeap) Less(i, j int) bool { return h[i].before(h[j]) }

func (h scoreHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *scoreHeap) Push(x any) {
	s := x.(*nodeScore)
	s.index = len(*h)
	*h = append(*h, s)
}

func (h *scoreHeap) Pop() any {
	last := len(*h) - 1
	s := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	s.index = -1
	return s
}
