package player

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// policyState is what a Player knows of one StagedBindingPolicy.
type policyState struct {
	rollout    *staged.Rollout // nil: no version without faults was seen yet
	meta       metav1.ObjectMeta
	contents   map[fleet.RevisionID]fleet.Snapshot // of revisions that were seen
	stored     map[fleet.RevisionID]bool           // the snapshots that are in the store
	missing    map[fleet.RevisionID]bool           // the status names them, and the store does not have them
	kept       []fleet.RevisionID                  // the snapshots that the store was told to keep last
	workload   fleet.Workload
	source     sourceState
	recheck    time.Duration // when the source may have settled; 0: it has
	policy     *staged.Policy
	uid        types.UID
	generation int64 // the last one that was seen
	compiled   int64 // the generation of policy
	fault      error // what is wrong with the last generation; nil: nothing
	status     v1alpha1.Status
	version    string         // the resourceVersion that has this status
	written    string         // the resourceVersion of the last write, until the watch has shown it
	due        time.Time      // of the next decision; zero: never
	events     []staged.Event // what has happened and has no Kubernetes Event yet
	failures   int            // in a row
	made       map[string]making
	ours       bool      // the last status that was seen is one that this Player wrote
	contested  making    // how often somebody else has written another status after that
	notBefore  time.Time // of the next decision
}

// view returns the policy as it is seen now.
func (s *policyState) view(now fleet.Instant) View {
	return View{Policy: s.policy, Meta: s.meta, Status: s.status, Now: now, Contents: s.contents}
}

// noteStored notes what a write of the StagedBindingPolicy has stored. With an equal version nothing
// has changed, and no watch event follows.
func (s *policyState) noteStored(stored *unstructured.Unstructured) {
	if version := stored.GetResourceVersion(); version != s.version {
		s.version, s.written = version, version
		s.meta.ResourceVersion, s.meta.Annotations = version, stored.GetAnnotations()
	}
}

// noteWritten notes what was written for a placement.
func (s *policyState) noteWritten(name string, events []staged.Event, now time.Time) {
	s.events = append(s.events, events...)
	for _, e := range events {
		if strings.HasSuffix(e.Reason, "Created") {
			s.noteCreated(name, now)
		}
	}
}

// newcomers returns the conflicts of other policies that place nothing because this policy was first.
func (p *Player) newcomers(policy string) (all []v1alpha1.Conflict) {
	for _, name := range slices.Sorted(maps.Keys(p.policies)) {
		for _, c := range p.policies[name].status.Conflicts {
			if name != policy && !c.First && (c.Owner == v1alpha1.Kind+" "+policy || strings.HasPrefix(c.Owner, bindingPolicyKind.Kind+" "+policy+v1alpha1.StageSeparator)) {
				all = append(all, v1alpha1.Conflict{Owner: v1alpha1.Kind + " " + name, Clusters: c.Clusters, First: true})
			}
		}
	}
	return all
}

// noteConflicts makes all decisions due if the conflicts of a policy have changed.
func (p *Player) noteConflicts(old, now v1alpha1.Status) {
	if !reflect.DeepEqual(old.Conflicts, now.Conflicts) {
		p.wake("")
	}
}

// A making is how often a BindingPolicy was created of late, and when last.
type making struct {
	times int
	last  time.Time
}

// The longest pauses, after failures and where somebody else deletes what the Player creates, and
// how long a BindingPolicy must last before it counts as made for the first time again.
const (
	longestPause = time.Minute
	settled      = 5 * time.Minute
)

// backOff returns a pause that doubles each time.
func backOff(first time.Duration, times int) time.Duration {
	return min(first<<min(times, 16), max(first, longestPause))
}

// noteStatus notes a status that the watch has shown. If another program writes another one after each
// status of this Player, because two Players see different things, the next decision waits: soon both see the
// same.
func (s *policyState) noteStatus(same bool, now time.Time) {
	if same || !s.ours {
		return
	}
	s.ours = false
	if now.Sub(s.contested.last) > settled {
		s.contested.times = 0
	}
	s.contested.times++
	s.contested.last = now
	s.notBefore = now.Add(min(pollInterval, backOff(100*time.Millisecond, s.contested.times-1)))
}

// noteCreated notes that a BindingPolicy was created. If that happens repeatedly, because
// somebody deletes it, the next decision waits.
func (s *policyState) noteCreated(name string, now time.Time) {
	if s.made == nil {
		s.made = map[string]making{}
	}
	m := s.made[name]
	if now.Sub(m.last) > settled {
		m.times = 0
	}
	if m.times++; m.times > 2 {
		s.notBefore = now.Add(backOff(time.Second, m.times-3))
	}
	m.last = now
	s.made[name] = m
}

// isOlderThanLastWrite reports whether a watch event is older than the last write. Watch events
// come in order, so all are older until the event of the write itself. After a list this cannot be
// told: if the list was older, the next write is a conflict, and the event of the last write is
// still to come.
func (s *policyState) isOlderThanLastWrite(e watchEvent) bool {
	if e.inList || s.written == "" || e.obj.GetUID() != s.uid {
		s.written = ""
		return false
	}
	if e.obj.GetResourceVersion() == s.written {
		s.written = ""
	}
	return true
}
