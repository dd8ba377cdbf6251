package workloads

import (
	"cmp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/lists"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
)

// A member is one state of a Pod of a StatefulSet, or an ordinal without a Pod.
type member struct {
	pods.Pod
	ordinal   int64 // of the set, with spec.ordinals.start; -1 without a number at the end of the name
	revision  string
	available bool // ready for minReadySeconds, as far as is known
	settled   bool // its claims have the owners that the retention policy asks for
}

// ordinalOf returns the number at the end of a name, or -1.
func ordinalOf(name string) int64 {
	n, err := strconv.ParseInt(name[strings.LastIndexByte(name, '-')+1:], 10, 32)
	if err != nil {
		return -1
	}
	return n
}

// isMissing reports whether the ordinal has no Pod.
func (m *member) isMissing() bool { return m.Unstructured == nil }

// isUnavailable reports whether a Pod is missing, being deleted or not available.
func (m *member) isUnavailable() bool { return m.isMissing() || m.IsTerminating() || !m.available }

// isQuiet reports whether a StatefulSet has nothing to do about a Pod except to replace its revision.
func (m *member) isQuiet() bool {
	return m.settled && !m.isUnavailable() && !m.IsTerminal() && m.Phase() != "Pending"
}

// members are Pods by ordinal. Pods with the same ordinal are in the order of their names.
type members []*member

func byOrdinal(a, b *member) int {
	return cmp.Or(cmp.Compare(a.ordinal, b.ordinal), cmp.Compare(a.GetName(), b.GetName()))
}

// put adds a Pod, or replaces the state of the Pod.
func (s *members) put(m *member) {
	at, found := slices.BinarySearchFunc(*s, m, byOrdinal)
	if found {
		(*s)[at] = m
		return
	}
	*s = slices.Insert(*s, at, m)
}

func (s *members) drop(m *member) {
	if at, found := slices.BinarySearchFunc(*s, m, byOrdinal); found {
		*s = slices.Delete(*s, at, at+1)
	}
}

// from returns the Pods with an ordinal of at least n.
func (s members) from(n int64) members { return s[s.below(n):] }

// to returns the Pods with an ordinal less than n.
func (s members) to(n int64) members { return s[:s.below(n)] }

func (s members) below(n int64) int {
	return sort.Search(len(s), func(i int) bool { return s[i].ordinal >= n })
}

// at returns the Pod with an ordinal, or nil. It returns the last of several Pods.
func (s members) at(n int64) *member {
	if upTo := s.to(n + 1); len(upTo) > 0 && upTo[len(upTo)-1].ordinal == n {
		return upTo[len(upTo)-1]
	}
	return nil
}

// firstUnavailable returns the unavailable Pod with the lowest ordinal, or nil.
func (s members) firstUnavailable() *member {
	if at := slices.IndexFunc(s, (*member).isUnavailable); at >= 0 {
		return s[at]
	}
	return nil
}

// setPods are the Pods of one StatefulSet, by the spec of the set. They are a [podSet]. Separate
// lists have the Pods that a reconcile looks for, so that the reconcile does not look at all Pods.
type setPods struct {
	spec            map[string]any
	minReadySeconds int64
	claims          bool // the Pods have claims

	setCounts
	members                      // all Pods
	busy      members            // all Pods that are not quiet
	soon      members            // ready Pods that are not known to be available
	revisions map[string]members // by revision, without Pods that are being deleted
	labelled  map[string]int     // how many Pods have a revision, with Pods that are being deleted
	doubles   int                // how many Pods have the ordinal of another Pod
}

// setCounts are how many Pods a StatefulSet has.
type setCounts struct{ replicas, ready, available, waiting int64 }

func newSetPods(set *unstructured.Unstructured) *setPods {
	spec := fields.Map(set.Object, "spec")
	return &setPods{
		spec: spec, minReadySeconds: fields.Int64(spec, 0, "minReadySeconds"),
		claims:    len(fields.Maps(spec, "volumeClaimTemplates")) > 0,
		revisions: map[string]members{}, labelled: map[string]int{},
	}
}

func (s *setPods) add(p pods.Pod) {
	m := &member{Pod: p, ordinal: ordinalOf(p.GetName()), revision: fields.Label(p.Unstructured, revisionLabel), settled: !s.claims}
	if m.ordinal >= 0 && s.at(m.ordinal) != nil {
		s.doubles++
	}
	s.put(m)
	s.labelled[m.revision]++
	if !m.IsTerminating() {
		inRevision := s.revisions[m.revision]
		inRevision.put(m)
		s.revisions[m.revision] = inRevision
	}
	if p.IsReady() {
		m.available = s.minReadySeconds == 0
		if !m.available {
			s.soon.put(m)
		}
	}
	s.count(m, 1)
	s.file(m)
}

func (s *setPods) remove(p pods.Pod) {
	at, found := slices.BinarySearchFunc(s.members, &member{Pod: p, ordinal: ordinalOf(p.GetName())}, byOrdinal)
	if !found {
		return
	}
	m := s.members[at]
	s.drop(m)
	s.busy.drop(m)
	s.soon.drop(m)
	if s.labelled[m.revision]--; s.labelled[m.revision] == 0 {
		delete(s.labelled, m.revision)
	}
	inRevision := s.revisions[m.revision]
	if inRevision.drop(m); len(inRevision) > 0 {
		s.revisions[m.revision] = inRevision
	} else {
		delete(s.revisions, m.revision)
	}
	s.count(m, -1)
	if m.ordinal >= 0 && s.at(m.ordinal) != nil {
		s.doubles--
	}
}

func (s *setPods) count(m *member, times int64) {
	running := m.Phase() == "Running"
	s.replicas += times
	s.ready += times * one(running && m.IsReady())
	s.available += times * one(running && m.available)
	s.waiting += times * one(m.IsWaiting())
}

// file puts a Pod among the busy Pods, or takes it away.
func (s *setPods) file(m *member) {
	if m.isQuiet() {
		s.busy.drop(m)
		return
	}
	s.busy.put(m)
}

// refresh finds Pods that are available by now. It returns the time until the next Pod is.
func (s *setPods) refresh(now time.Time) (next time.Duration) {
	for _, m := range slices.Clone(s.soon) {
		is, left := m.Available(s.minReadySeconds, now)
		next = control.Sooner(next, left)
		if is {
			s.count(m, -1)
			m.available = true
			s.count(m, 1)
			s.soon.drop(m)
			s.file(m)
		}
	}
	return next
}

// settle records whether the claims of a Pod are as they should be.
func (s *setPods) settle(m *member, is bool) {
	if at, found := slices.BinarySearchFunc(s.members, m, byOrdinal); found && s.members[at] == m {
		m.settled = is
		s.file(m)
	}
}

// lowestMissing returns the lowest ordinal from first to before end without a Pod, or end.
func (s *setPods) lowestMissing(first, end int64) int64 {
	in := s.from(first).to(end)
	return first + int64(sort.Search(len(in), func(i int) bool { return in[i].ordinal > first+int64(i) }))
}

// highestMissing returns the highest ordinal from first to before end without a Pod, or first-1.
func (s *setPods) highestMissing(first, end int64) int64 {
	in, last := s.from(first).to(end), end-1
	return last - int64(sort.Search(len(in), func(i int) bool { return in[len(in)-1-i].ordinal < last-int64(i) }))
}

// unique returns the Pods with only the last Pod of each ordinal from first to before end.
func (s *setPods) unique(first, end int64) *setPods {
	if s.doubles == 0 {
		return s
	}
	only := func(all members) members {
		return lists.Filter(all, func(m *member) bool {
			return m.ordinal < first || m.ordinal >= end || s.at(m.ordinal) == m
		})
	}
	u := &setPods{members: only(s.members), busy: only(s.busy), revisions: map[string]members{}}
	for revision, all := range s.revisions {
		u.revisions[revision] = only(all)
	}
	return u
}
