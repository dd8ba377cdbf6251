package scheduling

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
)

// podCounts are the Pods of a Node that are not being deleted, counted by their labels. Pods of one
// workload have the same labels, so a selector is matched once for all of them.
type podCounts struct {
	groups  map[string]*podGroup   // see groupOf
	byLabel map[podLabel]podGroups // and all of a namespace, without key and value
}

// podGroups are groups, and how many Pods they have together.
type podGroups struct {
	list  []*podGroup
	count int64
}

// A podGroup are Pods of a namespace with the same labels.
type podGroup struct {
	namespace string
	labels    map[string]any
	count     int64
}

// keptLabels is the number of labels up to which those of no Pod stay: they mostly come again.
const keptLabels = 100

type podLabel struct{ namespace, key, value string }

func countPods(pods []*PodInfo) *podCounts {
	c := &podCounts{groups: map[string]*podGroup{}, byLabel: map[podLabel]podGroups{}}
	for _, p := range pods {
		c.change(p, 1)
	}
	return c
}

// change adds a Pod, or takes it away.
func (c *podCounts) change(p *PodInfo, times int64) {
	if c == nil || p.terminating {
		return
	}
	g := c.groups[p.group]
	if g == nil {
		g = &podGroup{namespace: p.namespace, labels: p.labels}
		c.groups[p.group] = g
	}
	comes := g.count == 0
	g.count += times
	for label := range g.all() {
		all := c.byLabel[label].with(g, times, comes)
		c.byLabel[label] = all
		if len(all.list) == 0 && len(c.byLabel) > keptLabels {
			delete(c.byLabel, label)
		}
	}
	if g.count == 0 {
		delete(c.groups, p.group)
	}
}

// with counts a Pod of a group, which comes with its first Pod and goes with its last.
func (all podGroups) with(g *podGroup, times int64, comes bool) podGroups {
	all.count += times
	switch {
	case comes:
		all.list = append(all.list, g)
	case g.count == 0:
		all.list = without(all.list, g)
	}
	return all
}

// all are the labels under which the group is found.
func (g *podGroup) all() iter.Seq[podLabel] {
	return func(yield func(podLabel) bool) {
		for key := range g.labels {
			if !yield(podLabel{g.namespace, key, fields.String(g.labels, key)}) {
				return
			}
		}
		yield(podLabel{namespace: g.namespace})
	}
}

// selected is how many Pods of a namespace a selector matches.
func (c *podCounts) selected(s *selector, namespace string) (count int64) {
	few := c.byLabel[podLabel{namespace: namespace}]
	if s.nothing {
		return 0
	}
	for _, r := range s.requirements {
		if r.operator != "In" || len(r.values) != 1 {
			continue
		}
		with := c.byLabel[podLabel{namespace, r.key, r.values[0]}]
		switch {
		case len(s.requirements) == 1:
			return with.count // whatever other labels the Pods have
		case len(with.list) < len(few.list):
			few = with
		}
	}
	for _, g := range few.list {
		if s.matches(g.labels) {
			count += g.count
		}
	}
	return count
}

// groupOf is the same for Pods of the same namespace with the same labels.
func groupOf(namespace string, labels map[string]any) string {
	var b strings.Builder
	b.WriteString(namespace)
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		b.WriteString("," + key + "=" + fields.String(labels, key))
	}
	return b.String()
}
