package nodes

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
)

// A zoneState says how many Nodes of a zone are ready.
type zoneState int

const (
	initial zoneState = iota
	normal
	partialDisruption
	fullDisruption
)

// A zone has the Nodes that wait for their taint NoExecute.
type zone struct {
	name    string
	state   zoneState
	waiting []waitingNode // the first one is next
	bucket  bucket
}

// A waitingNode gets taints after a time.
type waitingNode struct {
	name  string
	after time.Time
}

// zoneOf returns the name of the zone of a Node, or "".
func zoneOf(node *unstructured.Unstructured) string {
	label := func(old, name string) string {
		if _, ok := fields.Map(node.Object, "metadata", "labels")[old]; ok {
			return fields.Label(node, old)
		}
		return fields.Label(node, name)
	}
	region := label("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
	name := label("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
	if region == "" && name == "" {
		return ""
	}
	return region + "/" + name
}

// zoneOf returns the zone of a Node, which is made if it is new.
func (l *lifecycle) zoneOf(node *unstructured.Unstructured) *zone {
	name := zoneOf(node)
	if l.zones[name] == nil {
		l.zones[name] = &zone{name: name, bucket: bucket{rate: l.options.EvictionRate, tokens: 1}}
	}
	return l.zones[name]
}

// sortedZones returns the zones by name. The list must not be changed.
func (l *lifecycle) sortedZones() []*zone {
	if len(l.sorted) != len(l.zones) {
		l.sorted = slices.SortedFunc(maps.Values(l.zones), func(a, b *zone) int { return cmp.Compare(a.name, b.name) })
	}
	return l.sorted
}

// update schedules a Node that is not ready for its taint, and removes the taints of a ready Node.
// A Node with the wrong one of the two taints gets the right one at once.
func (z *zone) update(c control.Call, node *unstructured.Unstructured, ready string) error {
	key, other := notReadyKey, unreachableKey
	switch ready {
	case "True":
		_, err := z.markReachable(c, node)
		return err
	case "Unknown":
		key, other = unreachableKey, notReadyKey
	}
	if hasTaint(node, other, noExecute) {
		_, err := swapTaints(c, node, []taint{{key: key, effect: noExecute}}, []taint{{key: other, effect: noExecute}})
		return err
	}
	if !hasTaint(node, key, noExecute) {
		z.remove(node.GetName())
		z.waiting = append(z.waiting, waitingNode{node.GetName(), c.Now})
	}
	return nil
}

// markReachable removes the taints NoExecute of a Node, which then no longer waits for one.
func (z *zone) markReachable(c control.Call, node *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	z.remove(node.GetName())
	var remove []taint
	for _, key := range []string{unreachableKey, notReadyKey} {
		if hasTaint(node, key, noExecute) {
			remove = append(remove, taint{key: key, effect: noExecute})
		}
	}
	return swapTaints(c, node, nil, remove)
}

func (z *zone) remove(name string) {
	z.waiting = slices.DeleteFunc(z.waiting, func(w waitingNode) bool { return w.name == name })
}

// nextTaint returns when the next Node of the zone is tainted: at a multiple of evictionPeriod
// after it began to wait, as soon as the rate allows it. It returns farAway without a Node to
// taint.
func (z *zone) nextTaint(start time.Time) time.Time {
	if len(z.waiting) == 0 {
		return farAway
	}
	at := z.bucket.next()
	if at.Equal(farAway) {
		return farAway
	}
	if after := z.waiting[0].after.Add(1); after.After(at) {
		at = after
	}
	return tick(start, at, evictionPeriod)
}

// taintNext taints the Nodes whose time has come.
func (z *zone) taintNext(c control.Call, start time.Time) error {
	for !z.nextTaint(start).After(c.Now) {
		name := z.waiting[0].name
		z.bucket.take(c.Now)
		z.remove(name)
		node := c.Cache.Get(kinds.Node, named(name))
		if node == nil {
			continue
		}
		key, other := unreachableKey, notReadyKey
		switch readyOf(node).Field("status") {
		case "True", "":
			continue
		case "False":
			key, other = notReadyKey, unreachableKey
		}
		remove := []taint{{key: other, effect: noExecute}}
		if !hasTaint(node, other, noExecute) {
			remove = nil
		}
		if _, err := swapTaints(c, node, []taint{{key: key, effect: noExecute}}, remove); err != nil {
			z.waiting = append(z.waiting, waitingNode{name, c.Now})
			return err
		}
	}
	return nil
}

// A bucket holds at most one token, which comes back at a rate. Rates and tokens are computed as
// client-go does, so that times are the same.
type bucket struct {
	rate   float32 // tokens a second; 0: no tokens
	tokens float64
	last   time.Time // when tokens were counted; zero: never
}

// at returns the tokens at a time.
func (b *bucket) at(t time.Time) float64 {
	if b.last.IsZero() {
		return b.tokens
	}
	return min(1, b.tokens+t.Sub(b.last).Seconds()*float64(b.rate))
}

// next returns when the next token is available: the zero time if one was available from the
// beginning.
func (b *bucket) next() time.Time {
	switch {
	case b.rate <= 0:
		return farAway
	case b.tokens >= 1:
		return b.last
	}
	return b.last.Add(time.Duration(math.Ceil((1 - b.tokens) / float64(b.rate) * 1e9)))
}

func (b *bucket) take(now time.Time) { b.tokens, b.last = b.at(now)-1, now }

// setRate changes the rate. A bucket that has no token now begins without one.
func (b *bucket) setRate(rate float32, now time.Time) {
	if b.rate == rate {
		return
	}
	has := b.rate > 0 && !b.next().After(now)
	*b = bucket{rate: rate, tokens: 1, last: now}
	if !has {
		b.tokens = 0
	}
}

// handleDisruption finds the states of the zones by the Nodes that are ready, and changes the
// rates. If no Node of any zone is ready, it treats the control plane as cut off: it removes taints
// NoExecute, and sets none.
func (l *lifecycle) handleDisruption(c control.Call, ready map[string][]bool) error {
	states, allFull := map[string]zoneState{}, true
	for name, nodes := range ready {
		states[name] = l.stateOf(nodes)
		allFull = allFull && states[name] == fullDisruption
	}
	wasFull := true
	for name, z := range l.zones {
		if _, has := ready[name]; !has {
			z.state, z.bucket = initial, bucket{rate: l.options.EvictionRate, tokens: 1}
			continue
		}
		wasFull = wasFull && z.state == fullDisruption
	}
	if allFull && wasFull {
		return nil
	}
	if allFull {
		return l.stopEvictions(c)
	}
	for _, h := range l.nodes {
		if wasFull { // the control plane is back
			h.probe = c.Now
		}
	}
	for name, state := range states {
		if z := l.zones[name]; wasFull || z.state != state {
			z.bucket.setRate(l.rateOf(state, len(ready[name])), c.Now)
			z.state = state
		}
	}
	return nil
}

func (l *lifecycle) stopEvictions(c control.Call) error {
	for _, node := range c.Cache.List(kinds.Node, "") {
		if _, err := l.zoneOf(node).markReachable(c, node); err != nil {
			return err
		}
	}
	for _, z := range l.zones {
		z.bucket.setRate(0, c.Now)
		z.state = fullDisruption
	}
	return nil
}

func (l *lifecycle) stateOf(ready []bool) zoneState {
	lost := 0
	for _, is := range ready {
		if !is {
			lost++
		}
	}
	switch {
	case lost == len(ready):
		return fullDisruption
	case lost > 2 && float32(lost)/float32(len(ready)) >= l.options.UnhealthyShare:
		return partialDisruption
	}
	return normal
}

func (l *lifecycle) rateOf(state zoneState, nodes int) float32 {
	switch {
	case state != partialDisruption:
		return l.options.EvictionRate
	case nodes > l.options.LargeZone:
		return l.options.SecondaryEvictionRate
	}
	return 0
}
