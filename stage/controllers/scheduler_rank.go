package controllers

import (
	"cmp"
	"container/heap"
)

// A ranking is the nodes as the Pods of a class see them: those that they fit on, the best one first, and what is in the way on the others.
// It takes in only what has changed since it was looked at, so that a Pod costs much less than a look at every node. For the first Pod of a
// class, after which no other may come, it only looks at every node.
type ranking struct {
	request podRequest
	fitting []*place             // a heap
	places  map[*nodeRoom]*place // nil at the first look
	unfit   unfitError
	seen    uint64 // how many changes of nodes were taken in
	used    uint64 // when it was looked at last, counted in looks
}

// A place is a node in a ranking.
type place struct {
	node    *nodeRoom
	score   float64
	index   int // in the heap, -1 if the Pods do not fit
	reasons []string
	final   bool
}

// rankings are those of the classes that were looked at lately.
type rankings struct {
	byClass map[string]*ranking
	changes []*nodeRoom // the last ones
	dropped uint64      // how many there were before these
	looks   uint64
}

// maxRankings is how many are kept: the classes of Pods that come again and again.
const maxRankings = 64

// changed notes that a node, or the room on it, is not what it was. When that would be more to go through than the nodes themselves, all is
// looked at anew.
func (rs *rankings) changed(n *nodeRoom, nodes int) {
	if len(rs.changes) > 4*nodes+1024 {
		rs.dropped += uint64(len(rs.changes))
		rs.changes = rs.changes[:0]
	}
	rs.changes = append(rs.changes, n)
}

// best returns the node for the next Pod of a class. The error is an unfitError.
func (rs *rankings) best(class *podClass, nodes map[string]*nodeRoom) (*nodeRoom, error) {
	rs.looks++
	r := rs.byClass[class.key]
	if r == nil {
		rs.evict()
		rs.byClass[class.key] = &ranking{request: class.request, used: rs.looks}
		return scan(nodes, &class.request)
	}
	r.used = rs.looks
	if r.places == nil || r.seen < rs.dropped {
		r.reset(nodes)
	} else {
		for _, n := range rs.changes[r.seen-rs.dropped:] {
			r.update(n)
		}
	}
	r.seen = rs.dropped + uint64(len(rs.changes))
	return r.best()
}

// scan looks at every node.
func scan(nodes map[string]*nodeRoom, r *podRequest) (*nodeRoom, error) {
	var best place
	unfit := &unfitError{reasons: map[string]int{}}
	for _, n := range nodes {
		if !n.there {
			continue
		}
		p := place{node: n}
		if p.reasons, p.final = inTheWay(n, r); len(p.reasons) > 0 {
			unfit.count(&p, 1)
			continue
		}
		if p.score = n.score(r); best.node == nil || p.before(&best) {
			best = p
		}
	}
	if best.node == nil {
		return nil, unfit
	}
	return best.node, nil
}

// before puts the highest score first, and of the same the first name.
func (p *place) before(other *place) bool {
	return cmp.Or(cmp.Compare(other.score, p.score), cmp.Compare(p.node.name, other.node.name)) < 0
}

// evict makes room for another ranking.
func (rs *rankings) evict() {
	if len(rs.byClass) < maxRankings {
		return
	}
	oldest, least := "", rs.looks+1
	for key, r := range rs.byClass {
		if r.used < least {
			oldest, least = key, r.used
		}
	}
	delete(rs.byClass, oldest)
}

func (r *ranking) reset(nodes map[string]*nodeRoom) {
	r.fitting, r.places = nil, make(map[*nodeRoom]*place, len(nodes))
	r.unfit = unfitError{reasons: map[string]int{}}
	for _, n := range nodes {
		r.update(n)
	}
}

// update looks at a node anew.
func (r *ranking) update(n *nodeRoom) {
	p := r.places[n]
	if p != nil {
		r.unfit.count(p, -1)
	}
	if !n.there {
		r.remove(p)
		delete(r.places, n)
		return
	}
	if p == nil {
		p = &place{node: n, index: -1}
		r.places[n] = p
	}
	p.reasons, p.final = inTheWay(n, &r.request)
	r.unfit.count(p, 1)
	if len(p.reasons) > 0 {
		r.remove(p)
		return
	}
	p.score = n.score(&r.request)
	if p.index < 0 {
		heap.Push(r, p)
	} else {
		heap.Fix(r, p.index)
	}
}

// remove takes a place out of those that fit.
func (r *ranking) remove(p *place) {
	if p != nil && p.index >= 0 {
		heap.Remove(r, p.index)
	}
}

func (r *ranking) best() (*nodeRoom, error) {
	if len(r.fitting) == 0 {
		return nil, &r.unfit
	}
	return r.fitting[0].node, nil
}

// Len, Less, Swap, Push and Pop make a heap of the places.
func (r *ranking) Len() int { return len(r.fitting) }

func (r *ranking) Less(i, j int) bool { return r.fitting[i].before(r.fitting[j]) }

func (r *ranking) Swap(i, j int) {
	f := r.fitting
	f[i], f[j] = f[j], f[i]
	f[i].index, f[j].index = i, j
}

func (r *ranking) Push(x any) {
	p := x.(*place)
	p.index = len(r.fitting)
	r.fitting = append(r.fitting, p)
}

func (r *ranking) Pop() any {
	last := len(r.fitting) - 1
	p := r.fitting[last]
	r.fitting[last] = nil
	r.fitting = r.fitting[:last]
	p.index = -1
	return p
}
