package rehearse

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// noteRevision notes the revision that the hub holds now.
func (r *run) noteRevision() {
	if id := r.main().held(); id != "" && !slices.Contains(r.seen, id) {
		r.seen = append(r.seen, id)
	}
}

// nameOf returns the name of a revision.
func (r *run) nameOf(id fleet.RevisionID) string {
	switch n := slices.Index(r.seen, id); {
	case id == "":
		return "nothing"
	case n < 0:
		return "a mixture"
	default:
		return fmt.Sprintf("r%d-%s", n+1, id.Short())
	}
}

// noteHas notes which revision a cluster has now. A change from one to another is an entry.
func (r *run) noteHas(c *cluster) {
	var before fleet.RevisionID
	if n := len(c.revisions); n > 0 {
		before = c.revisions[n-1]
	}
	id := r.main().has(c.member)
	if id == before {
		return
	}
	if c.revisions = append(c.revisions, id); before != "" && id != "" {
		r.record(Entry{Cluster: c.name, Text: fmt.Sprintf("from %s to %s", r.nameOf(before), r.nameOf(id))})
	}
}

// histories returns the revisions that each cluster has had; nil if there was only one.
func (r *run) histories() (all []History) {
	if len(r.seen) < 2 {
		return nil
	}
	for _, c := range r.clusters {
		h := History{Cluster: c.name}
		for _, id := range c.revisions {
			h.Had = append(h.Had, r.nameOf(id))
		}
		for _, id := range r.seen {
			if !slices.Contains(c.revisions, id) {
				h.Never = append(h.Never, r.nameOf(id))
			}
		}
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b History) int { return strings.Compare(a.Cluster, b.Cluster) })
	return all
}

// notePlaced records what was done to an object in a cluster.
func (r *run) notePlaced(c *cluster, text string) {
	r.record(Entry{Cluster: c.name, Text: text})
	name, gone := strings.CutSuffix(text, textGone)
	_, exists := r.hub.labels[c.name]
	wasThere := c.had || len(c.revisions) > 1 && r.main().object.Spec.Retention == v1alpha1.Keep
	if gone && exists && wasThere {
		if c.lost == nil {
			c.lost = map[string]string{}
		}
		c.lost[name] = round(r.now.Sub(r.in.Start)).String()
	}
}

// lintLosses reports clusters that lose what they had before, and stages that let a rollback do that.
func (r *run) lintLosses() error {
	had := map[string]map[string]string{}
	for _, c := range r.clusters {
		for _, name := range slices.Sorted(maps.Keys(c.lost)) {
			r.addLint("", "it removes a workload that was there before: cluster %s loses %s at +%s", c.name, name, c.lost[name])
		}
		if c.had {
			had[c.name] = r.hub.labels[c.name]
		}
	}
	for _, s := range r.in.Policy.Spec.Stages {
		found, err := kubestellar.Destinations(s.ClusterSelectors, had)
		if err != nil {
			return err
		}
		if s.WithdrawFirst && len(found) > 0 {
			r.addLint(s.Name, "withdrawFirst says that its clusters have nothing before: a rollback would remove a workload that was there before from %s", found[0].ClusterID)
		}
	}
	return nil
}
