package scheduling

import (
	"container/heap"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// A Cycle is the scheduling of one Pod. Plugins read from it, and keep their data for this Pod in
// it. It must not be used from several goroutines at once, and plugins must not keep it.
type Cycle struct {
	// Pod is the one to be scheduled.
	Pod *PodInfo
	// Nodes are all Nodes with their Pods, in kube-scheduler's order, which takes one Node of each
	// zone in turn. They must not be changed.
	Nodes []*NodeInfo
	// Cache has the other objects; see [Scheduler] for their kinds.
	Cache *reconcile.Cache
	// Now is the time.
	Now time.Time

	framework  *framework
	memories   []memory
	filters    []FilterPlugin // the plugins that apply to the Pod
	extended   []PreFilterExtensions
	statuses   []Status // of the Nodes by their places; a Node that was not looked at, or fits, has none
	rejected   int      // how many Nodes have a status
	absent     Status   // of Nodes that were not looked at
	early      bool     // a PreFilter was against the Pod, so that no Node was looked at
	rejecters  []string // the plugins that were against a Node
	restricted []string // the plugins that named the only Nodes to look at
}

// A memory is the data of one plugin in a Cycle.
type memory struct {
	plugin string
	value  any
}

// Write remembers something for a plugin, until the end of the cycle.
func (c *Cycle) Write(p Plugin, value any) {
	name := p.Name()
	for i := range c.memories {
		if c.memories[i].plugin == name {
			c.memories[i].value = value
			return
		}
	}
	c.memories = append(c.memories, memory{name, value})
}

// Read returns the data that a plugin stored with Write, or nil.
func (c *Cycle) Read(p Plugin) any {
	name := p.Name()
	for i := range c.memories {
		if c.memories[i].plugin == name {
			return c.memories[i].value
		}
	}
	return nil
}

// Node returns the Node with the given name, or nil.
func (c *Cycle) Node(name string) *NodeInfo {
	if n := c.framework.nodes[name]; n != nil && n.Node != nil {
		return n
	}
	return nil
}

// A framework runs the plugins of a profile. It keeps the data that lasts from one cycle to the
// next.
type framework struct {
	profile     Profile
	preFilters  []PreFilterPlugin
	filters     []FilterPlugin
	postFilters []PostFilterPlugin
	scores      []ScorePlugin
	nodes       map[string]*NodeInfo
	nominated   nominator
	next        int      // where the search for Nodes begins, so that all have the same chance
	statuses    []Status // of the last Cycle, to be used again
}

func newFramework(p Profile) *framework {
	return &framework{
		profile: p, nodes: map[string]*NodeInfo{}, nominated: nominator{},
		preFilters: pluginsOf[PreFilterPlugin](p), filters: pluginsOf[FilterPlugin](p),
		postFilters: pluginsOf[PostFilterPlugin](p), scores: pluginsOf[ScorePlugin](p),
	}
}

// preFilter calls the PreFilters, and returns the Nodes to be looked at.
func (c *Cycle) preFilter() ([]*NodeInfo, Status) {
	var rejected Status
	skip, nodes := map[string]bool{}, c.Nodes
	for _, p := range c.framework.preFilters {
		s := p.PreFilter(c)
		s.plugin = p.Name()
		switch {
		case s.Skip:
			skip[p.Name()] = true
			continue
		case !s.Fits():
			if rejected = s; s.Unresolvable {
				return nil, s
			}
			continue
		case s.NodeNames != nil:
			nodes = c.named(nodes, s.NodeNames)
			c.restricted = append(c.restricted, p.Name())
		}
		if extensions, ok := p.(PreFilterExtensions); ok {
			c.extended = append(c.extended, extensions)
		}
	}
	c.filters = slices.DeleteFunc(slices.Clone(c.framework.filters), func(p FilterPlugin) bool { return skip[p.Name()] })
	c.rejecters = slices.Clone(c.restricted)
	return nodes, rejected
}

// named returns the Nodes that have one of the names, in their order. A Pod of a DaemonSet names one.
func (c *Cycle) named(nodes []*NodeInfo, names []string) []*NodeInfo {
	if len(nodes) == len(c.Nodes) && len(names) == 1 {
		if n := c.Node(names[0]); n != nil {
			return []*NodeInfo{n}
		}
		return nil
	}
	return slices.DeleteFunc(slices.Clone(nodes), func(n *NodeInfo) bool { return !slices.Contains(names, n.Name) })
}

// Filter asks the filters about a Node: with the Pods that are nominated to it and whose priority is
// not lower, and without them.
func (c *Cycle) Filter(n *NodeInfo) Status {
	nominated := c.framework.nominated.on(n.Name, c.Pod)
	if len(nominated) == 0 {
		return c.filterAsIs(n)
	}
	for _, p := range nominated {
		c.addPod(p, n)
	}
	s := c.filterAsIs(n)
	for _, p := range slices.Backward(nominated) {
		c.removePod(p, n)
	}
	if !s.Fits() {
		return s
	}
	return c.filterAsIs(n)
}

func (c *Cycle) filterAsIs(n *NodeInfo) Status {
	for _, p := range c.filters {
		if s := p.Filter(c, n); !s.Fits() {
			s.plugin = p.Name()
			return s
		}
	}
	return Status{}
}

// addPod puts a Pod on a Node to try something out.
func (c *Cycle) addPod(p *PodInfo, n *NodeInfo) {
	n.AddPod(p)
	for _, e := range c.extended {
		e.AddPod(c, p, n)
	}
}

func (c *Cycle) removePod(p *PodInfo, n *NodeInfo) {
	n.RemovePod(p)
	for _, e := range c.extended {
		e.RemovePod(c, p, n)
	}
}

// findNodes returns Nodes on which the Pod fits, as many as the plugins will score.
func (c *Cycle) findNodes() []*NodeInfo {
	nodes, rejected := c.preFilter()
	if !rejected.Fits() {
		c.absent, c.rejecters, c.early = rejected, []string{rejected.plugin}, true
		return nil
	}
	if n := c.Node(c.Pod.nominatedNode()); n != nil {
		s := c.Filter(n)
		if s.Fits() {
			return []*NodeInfo{n}
		}
		c.reject(n, s)
	}
	if len(c.restricted) > 0 {
		reason := fmt.Sprintf("node(s) didn't satisfy plugin(s) [%s]", strings.Join(slices.Sorted(slices.Values(c.rejecters)), " "))
		c.absent = unresolvable(reason)
	}
	return c.passFilters(nodes)
}

// passFilters looks at Nodes, starting where the last cycle ended, until one more Node fits than is
// wanted.
func (c *Cycle) passFilters(nodes []*NodeInfo) (fit []*NodeInfo) {
	f, wanted := c.framework, c.framework.nodesToFind(len(nodes))
	for i := range nodes {
		n := nodes[(f.next+i)%len(nodes)]
		if s := c.Filter(n); !s.Fits() {
			c.reject(n, s)
		} else if len(fit) == wanted {
			break
		} else {
			fit = append(fit, n)
		}
	}
	f.next = (f.next + len(fit) + c.rejected) % len(c.Nodes)
	return fit
}

func (c *Cycle) reject(n *NodeInfo, s Status) {
	if c.statuses == nil {
		c.framework.statuses = slices.Grow(c.framework.statuses[:0], len(c.Nodes))[:len(c.Nodes)]
		c.statuses = c.framework.statuses
		clear(c.statuses)
	}
	if c.statuses[n.at].Fits() {
		c.rejected++
	}
	c.statuses[n.at] = s
	if !slices.Contains(c.rejecters, s.plugin) {
		c.rejecters = append(c.rejecters, s.plugin)
	}
}

// Status returns why the Pod does not fit on a Node. For Nodes that were not looked at it is
// unresolvable.
func (c *Cycle) Status(n *NodeInfo) Status {
	if c.statuses != nil && !c.statuses[n.at].Fits() {
		return c.statuses[n.at]
	}
	return c.absent
}

// nodesToFind is how many Nodes on which a Pod fits are enough.
func (f *framework) nodesToFind(nodes int) int {
	const least = 100
	switch {
	case len(f.scores) == 0:
		return 1
	case nodes < least:
		return nodes
	}
	percentage := f.profile.PercentageOfNodesToScore
	if percentage == 0 {
		percentage = max(50-nodes/125, 5)
	}
	return max(nodes*percentage/100, least)
}

// A scoredNode is a Node with the sum of its scores.
type scoredNode struct {
	node  *NodeInfo
	score int64
}

// best scores Nodes and returns the one with the highest score. If record is given, it is called
// with the weighted scores of each plugin, in the order of the Nodes.
func (c *Cycle) best(nodes []*NodeInfo, record func(plugin string, scores []int64)) *NodeInfo {
	if len(nodes) == 1 {
		return nodes[0]
	}
	ranked := make(scoreHeap, len(nodes))
	for i, n := range nodes {
		ranked[i].node = n
	}
	scores := make([]int64, len(nodes))
	for _, p := range c.framework.scores {
		if !c.score(p, nodes, scores) {
			continue
		}
		if record != nil {
			record(p.Name(), slices.Clone(scores))
		}
		for i := range ranked {
			ranked[i].score += scores[i]
		}
	}
	heap.Init(&ranked)
	return heap.Pop(&ranked).(scoredNode).node
}

// score fills in the weighted scores of one plugin. It returns false if the plugin does not apply.
func (c *Cycle) score(p ScorePlugin, nodes []*NodeInfo, scores []int64) bool {
	if pre, ok := p.(PreScorePlugin); ok && pre.PreScore(c, nodes).Skip {
		return false
	}
	for i, n := range nodes {
		scores[i] = p.Score(c, n)
	}
	if extensions, ok := p.(ScoreExtensions); ok {
		extensions.NormalizeScore(c, scores)
	}
	if weight, ok := c.framework.profile.Weights[p.Name()]; ok {
		for i := range scores {
			scores[i] *= weight
		}
	}
	return true
}

// A scoreHeap is the heap from which kube-scheduler takes the Node with the highest score: which of
// several it is depends on how a heap is built.
type scoreHeap []scoredNode

func (h scoreHeap) Len() int           { return len(h) }
func (h scoreHeap) Less(i, j int) bool { return h[i].score > h[j].score }
func (h scoreHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *scoreHeap) Push(x any)        { *h = append(*h, x.(scoredNode)) }

func (h *scoreHeap) Pop() any {
	last := len(*h) - 1
	n := (*h)[last]
	*h = (*h)[:last]
	return n
}

// normalize stretches scores to 0 to 100; with reverse, the highest one becomes 0.
func normalize(scores []int64, reverse bool) {
	highest := slices.Max(scores)
	for i, s := range scores {
		if highest > 0 {
			scores[i] = maxScore * s / highest
		}
		if reverse {
			scores[i] = maxScore - scores[i]
		}
	}
}

const maxScore = 100
