package player

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A mark is what the ledger remembers of a cluster for the space.
type mark struct {
	absent     bool             // it had nothing, and has reported nothing
	generation int64            // of its ManifestWorks, at which the revision was confirmed
	held       bool             // it has been held since
	revision   fleet.RevisionID // that was confirmed
	before     fleet.RevisionID // the one before
	confirmed  int64            // seconds
	reported   int              // how many objects of the revision have reported
	newest     int64            // seconds; when the newest of these reports was created
	next       string           // the first digits of the revision that was delivered last, or is under way
	counters   counters         // from before that delivery
}

// nothing stands for the revision before the first one, and unseen for a revision that was ordered while no
// program looked.
const (
	nothing = fleet.RevisionID("nothing")
	unseen  = "unseen"
)

// counters are the observedGeneration of objects, by a short hash of their names.
type counters map[string]counter

// A counter is an observedGeneration from before a delivery.
type counter struct {
	generation int64
	own        bool // the status was of the revision that the mark has still
}

// countersBefore returns what statuses said before a time. Watches of two kinds overtake each other, so
// that a status of after that time may be here already.
func (m mark) countersBefore(v View, statuses []*clusterStatus, at time.Time) counters {
	c := counters{}
	for _, s := range statuses {
		before, own := s.generation, m.revision != "" && m.isOrdered(v, s)
		if s.since.Unix() >= at.Unix() {
			before, own = s.former, false
		}
		if before > 0 {
			c[shortName(s.object)] = counter{before, own}
		}
	}
	return c
}

// disowned are counters for another revision than that of their statuses.
func (c counters) disowned() counters {
	for name, n := range c {
		c[name] = counter{generation: n.generation}
	}
	return c
}

// isUnderWay reports whether a content other than the confirmed one has been ordered since.
func (m mark) isUnderWay() bool {
	return m.revision != "" && m.next != "" && m.next != m.revision.Short()
}

// told returns the mark of a cluster that should have a revision. If that is another one than it has, it is
// not known any more to be held: its placement opens, whether that is seen or not.
func (m mark) told(desired string) mark {
	if desired != "" && desired != v1alpha1.Hold && desired != v1alpha1.Withdrawn && desired != string(m.revision) {
		m.held = false
	}
	return m
}

func shortName(ref fleet.ObjectRef) string {
	h := fnv.New32a()
	h.Write([]byte(ref.String())) // never fails
	return strconv.FormatUint(uint64(h.Sum32()), 36)
}

// String returns the mark as the ledger stores it. Revisions are their first digits.
func (m mark) String() string {
	switch {
	case m.absent:
		return "absent"
	case m.revision == "" && m.next == "":
		return ""
	}
	before := m.before.Short()
	if m.before == nothing {
		before = string(nothing)
	}
	text := fmt.Sprintf("%d %t %s %s %d %d %d %s", m.generation, m.held, orDash(m.revision.Short()), orDash(before), m.confirmed, m.reported, m.newest, orDash(m.next))
	for _, name := range slices.Sorted(maps.Keys(m.counters)) {
		if text += fmt.Sprintf(" %s=%d", name, m.counters[name].generation); m.counters[name].own {
			text += "+"
		}
	}
	return text
}

func orDash(text string) string { return cmp.Or(text, "-") }

// parseMark reads what String returned, or what a former version wrote. A revision that neither the
// status names nor the Player knows is unknown.
func parseMark(v View, text string) (m mark) {
	parts := strings.Fields(text)
	if text == "absent" {
		return mark{absent: true}
	}
	if len(parts) < 5 {
		return mark{}
	}
	number := func(i int) int64 {
		if i >= len(parts) {
			return 0
		}
		n, _ := strconv.ParseInt(parts[i], 10, 64)
		return n
	}
	m = mark{generation: number(0), held: parts[1] == "true", revision: revisionOf(v, parts[2]), before: revisionOf(v, parts[3]),
		confirmed: number(4), reported: int(number(5)), newest: number(6)}
	if len(parts) > 7 {
		m.next = strings.Trim(parts[7], "-")
		m.counters = counters{}
		for _, pair := range parts[8:] {
			name, value, _ := strings.Cut(pair, "=")
			generation, _ := strconv.ParseInt(strings.TrimSuffix(value, "+"), 10, 64)
			m.counters[name] = counter{generation, strings.HasSuffix(value, "+")}
		}
	}
	return m
}

// revisionOf returns the revision with these first digits; "": it is not known.
func revisionOf(v View, text string) fleet.RevisionID {
	short := fleet.RevisionID(text).Short()
	if text == string(nothing) {
		return nothing
	}
	for _, r := range v.Status.Revisions {
		if fleet.RevisionID(r.ID).Short() == short {
			return fleet.RevisionID(r.ID)
		}
	}
	for id := range v.Contents {
		if id.Short() == short {
			return id
		}
	}
	return ""
}

// noteReported notes how many objects of the revision have reported, and when the newest of these
// reports was created.
func (m *mark) noteReported(v View, statuses []*clusterStatus) {
	m.reported, m.newest = 0, 0
	for _, s := range statuses {
		if m.revision != "" && find(v.Contents[m.revision], s.object) != nil {
			m.reported++
			m.newest = max(m.newest, s.created.Unix())
		}
	}
}

// hasLost reports whether a held cluster has lost an object of its revision since the last look, which
// KubeStellar then makes again from what the hub holds: a report of before is gone. Where the hub holds
// the same content of the object, nothing is lost.
func (m *mark) hasLost(v View, told fleet.RevisionID, statuses []*clusterStatus) bool {
	old, same := 0, true
	there := map[fleet.ObjectRef]bool{}
	for _, s := range statuses {
		if find(v.Contents[m.revision], s.object) != nil && s.created.Unix() <= m.newest {
			old++
			there[s.object] = true
		}
	}
	for _, obj := range v.Contents[m.revision].Objects {
		kept := slices.ContainsFunc(slices.Collect(maps.Keys(there)), func(ref fleet.ObjectRef) bool { return isAbout(obj, ref) })
		same = same && (kept || slices.ContainsFunc(v.Contents[told].Objects, func(o *unstructured.Unstructured) bool { return reflect.DeepEqual(o.Object, obj.Object) }))
	}
	return old < m.reported && !same
}

// hasReported reports whether a cluster has reported an object of the workload.
func hasReported(v View, statuses []*clusterStatus) bool {
	for _, status := range statuses {
		for _, content := range v.Contents {
			if find(content, status.object) != nil {
				return true
			}
		}
	}
	return false
}

// reportsOf returns the reports of a cluster, each with the revision that it is known to be of.
func reportsOf(v View, statuses []*clusterStatus, m mark) (all []fleet.Report) {
	for _, status := range statuses {
		r := fleet.Report{Object: status.object, Status: status.status, At: status.written}
		if m.revision != "" && m.isOrdered(v, status) {
			r.Revision, r.Evidence = m.revision, fleet.EvidenceOrdered
		}
		all = append(all, r)
	}
	return all
}

// isOrdered reports whether a status is of the revision of the mark. A status from before another content
// was ordered stays what it was if the revision came back. If the object is the same in the revision
// before, any status is. If its spec differs and its controller says which generation it has
// seen, that must have risen since before the delivery. Otherwise the status must have been written
// after the delivery was confirmed.
func (m mark) isOrdered(v View, status *clusterStatus) bool {
	after := status.written.Unix() > m.confirmed
	if m.before == nothing {
		return true // no status of another revision can be here
	}
	counted, known := m.counters[shortName(status.object)]
	if counted.own && status.generation == counted.generation {
		return true
	}
	now, then := find(v.Contents[m.revision], status.object), find(v.Contents[m.before], status.object)
	switch {
	case now == nil || then == nil:
		return after
	case reflect.DeepEqual(now.Object, then.Object):
		return true
	case reflect.DeepEqual(withoutMetadata(now), withoutMetadata(then)):
		return after // no generation rises
	}
	if !known || status.generation < max(1, counted.generation) { // a generation that has fallen is that of another object
		return after
	}
	return status.generation > counted.generation && status.written.Unix() >= m.confirmed
}

func withoutMetadata(obj *unstructured.Unstructured) map[string]any {
	fields := maps.Clone(obj.Object)
	delete(fields, "metadata")
	return fields
}

// find returns the object of a snapshot that a report is about.
func find(s fleet.Snapshot, ref fleet.ObjectRef) *unstructured.Unstructured {
	for _, obj := range s.Objects {
		if isAbout(obj, ref) {
			return obj
		}
	}
	return nil
}

// isAbout reports whether a report is about an object. A snapshot has kinds, and a report has the
// plural name of one.
func isAbout(obj *unstructured.Unstructured, ref fleet.ObjectRef) bool {
	gvk := obj.GroupVersionKind()
	return gvk.Group == ref.Group && obj.GetNamespace() == ref.Namespace && obj.GetName() == ref.Name &&
		strings.HasPrefix(ref.Resource, strings.TrimSuffix(strings.ToLower(gvk.Kind), "y"))
}
