package player_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged/application"
	"github.com/stagecraft-go/stagecraft/staged/manifestwork"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

var (
	manifestWorkKind = manifestwork.Kind
	applicationKind  = application.Kind
	nameS            = types.NamespacedName{Name: "s"}
)

// slack is twice the error of the hub's time: a second of resolution, and what a clock drifts.
const slack = 3 * time.Second

// An oracle is what really happened, and which invariant was broken. It is written from the specification
// alone; of the engine it reads nothing but the status and the placements, as users do.
type oracle struct {
	verbose bool
	log     []string
	fault   string
	counts  map[string]int

	deliveries  int
	deliveredAt map[string]map[int]int                     // the number of the last delivery, by cluster/object and image
	fit         map[string]map[int]int                     // the number of the delivery with which an image was good last, by cluster/object
	sick        map[string]map[int]bool                    // an image was bad, by cluster/object
	ordered     map[string]int                             // the image that a cluster was told to take last, by cluster/object
	reportedAt  map[string]time.Time                       // since when its WorkStatus has this observedGeneration, by cluster/object
	uncounted   map[string]map[int]bool                    // its order came when no generation had been reported in an earlier second
	previous    map[string]map[version]version             // what a cluster had before a version
	from        map[string]map[string]string               // what a status said that a cluster had, before it said another revision
	reads       map[*unstructured.Unstructured]*statusRead // what WorkStatuses hold

	combined map[*unstructured.Unstructured][]string // the clusters from whose reports a CombinedStatus was written

	arrived    map[string]map[version]time.Time // when a cluster came to have a version last
	good       map[string]map[version]bool      // it was healthy with it since
	proven     map[string]map[string]bool       // the revisions with which it was part of a fulfilled stage
	baseline   map[string]version               // what it had before the policy
	baselines  map[string]map[string]bool       // the revisions that it had when a status was lost
	vouched    map[string]bool                  // the author of a stage has said that it had nothing before
	handed     map[string]bool                  // it has lost the workload over K0 to another placement, which no report shows and whose Binding stands for the delivery
	released   map[string]bool                  // the engine may have taken the workload from it
	movedAt    map[string]int                   // the step of its last other label
	fulfilled  map[string]map[string]bool       // stages and revisions, of the present rollout
	ever       map[string]map[string]bool       // the same, of all
	entered    map[string]time.Time
	unmet      map[string]map[string]time.Time // when a status was written last whose decision saw no satisfying report, by stage and cluster
	excused    map[string]map[string]time.Time // when a status was written first whose stage waits for a cluster again
	endedAt    map[string]time.Time            // when a status showed last that a stage has ended
	toldAt     map[string]time.Time            // when the order that a cluster has was written; over K1 the first one
	failedAt   map[string]int                  // the step in which a stage failed
	retriedAt  map[string]int
	asked      int            // the step since which tickets are as they are
	askedOf    map[string]int // the same of a stage
	tickets    map[string]bool
	looks      []look
	chosen     time.Time // when the wanted revision became that
	chosenAt   map[string]time.Time
	times      sourceTimes
	trust      bool      // the status was lost or is an old one: what it says of before is believed
	lostStatus bool      // it was lost: the engine says which stages were passed (2.11)
	restoring  time.Time // when
	restoredIn int       // and in which step
	unseen     bool      // nothing shows it: what exists is as old as the status
	apart      bool      // the hub was restored and the space was not
	editedAt   int
	others     bool // another owner places the workload
}

func newOracle() oracle {
	return oracle{counts: map[string]int{}, deliveredAt: map[string]map[int]int{}, fit: map[string]map[int]int{}, sick: map[string]map[int]bool{}, ordered: map[string]int{}, reportedAt: map[string]time.Time{}, uncounted: map[string]map[int]bool{}, previous: map[string]map[version]version{}, from: map[string]map[string]string{}, reads: map[*unstructured.Unstructured]*statusRead{}, combined: map[*unstructured.Unstructured][]string{},
		arrived: map[string]map[version]time.Time{}, vouched: map[string]bool{}, chosenAt: map[string]time.Time{}, good: map[string]map[version]bool{}, proven: map[string]map[string]bool{},
		baseline: map[string]version{}, baselines: map[string]map[string]bool{}, handed: map[string]bool{}, released: map[string]bool{}, movedAt: map[string]int{}, fulfilled: map[string]map[string]bool{}, ever: map[string]map[string]bool{},
		entered: map[string]time.Time{}, unmet: map[string]map[string]time.Time{}, excused: map[string]map[string]time.Time{}, endedAt: map[string]time.Time{}, toldAt: map[string]time.Time{}, failedAt: map[string]int{}, retriedAt: map[string]int{}, askedOf: map[string]int{}, tickets: map[string]bool{}}
}

func (h *history) note(format string, args ...any) {
	if h.verbose {
		h.log = append(h.log, fmt.Sprintf("%s ", h.now.Format("15:04:05"))+fmt.Sprintf(format, args...))
	}
}

// broken says that an invariant does not hold.
func (h *history) broken(format string, args ...any) {
	if judged := *rules == "" || slices.Contains(strings.Split(*rules, ","), invariantOf(format)); judged && h.fault == "" {
		h.fault = fmt.Sprintf(format, args...)
		h.note("BROKEN %s", h.fault)
	}
}

func set[K, L comparable, V any](in map[K]map[L]V, key K, of L, value V) {
	if in[key] == nil {
		in[key] = map[L]V{}
	}
	in[key][of] = value
}

// received notes that a cluster has another content.
func (h *history) received(m *member, before version) {
	v := m.has()
	h.note("cluster %s has %s (before %s)", m.name, v, before)
	at, had := h.now, h.arrived[m.name][v]
	if h.handed[m.name] && !had.IsZero() {
		at = had
	}
	h.handed[m.name] = false
	set(h.arrived, m.name, v, at)
	set(h.good, m.name, v, false)
	stays := func(p *unstructured.Unstructured) bool {
		return p.GetDeletionTimestamp() == nil && selectsMember(p, m.labels)
	}
	if h.kind == overOCM || slices.ContainsFunc(h.hub.list(bindingPolicyKind), stays) && !h.isLeaving(m) {
		h.released[m.name] = false // else it is on its way out, and another content overtakes that
	}
}

// isLeaving reports whether a cluster has a ManifestWork whose BindingPolicy is gone or has let it go, which over K0 may go before
// that of another one, bound already, was applied (2.7).
func (h *history) isLeaving(m *member) bool {
	return h.kind == overHub && slices.ContainsFunc(h.space.list(manifestWorkKind), func(work *unstructured.Unstructured) bool {
		p := h.hub.get(bindingPolicyKind, "", work.GetName())
		return work.GetNamespace() == m.name && (p == nil || p.GetDeletionTimestamp() != nil || !selectsMember(p, m.labels))
	})
}

// looked notes whether a cluster is healthy with what it has.
func (h *history) looked(m *member) {
	if m.isGood() {
		set(h.good, m.name, m.has(), true)
	}
}

// lost is S3 where it happens: a cluster has nothing any more.
func (h *history) lost(m *member) {
	h.note("cluster %s loses the workload", m.name)
	h.handed[m.name] = h.kind == overHub && h.members[m.name] != nil && len(h.holds(m.name, "")) > 0
	if h.members[m.name] != nil && !h.released[m.name] && !h.others && !(h.trust && !h.kind.places()) {
		h.broken("S3: cluster %s loses the workload", m.name)
	}
}

func (h *history) moved(m *member) {
	h.movedAt[m.name] = h.steps
	h.note("cluster %s has labels %v", m.name, m.labels)
	if d := h.designs[h.design]; !d.staged { // KubeStellar's selectors are live then
		h.released[m.name] = true
	}
}

func (h *history) edited(d design) {
	h.editedAt = h.steps
	h.note("the spec is now\n%s", d.yaml())
	for name := range h.members {
		if h.movedAt[name] > 0 && !d.staged {
			h.released[name] = true
		}
	}
}

func (h *history) retried(stage string) { h.retriedAt[stage] = h.steps }

func (h *history) designAt(generation int64) design {
	if d, known := h.designOf[generation]; known {
		return d
	}
	return h.designs[h.design]
}

// wrote looks at a write of a player that was carried out.
func (h *history) wrote(a *actor, verb string, k key, old, stored *unstructured.Unstructured) {
	switch k.kind {
	case stagedPolicyKind:
		before, after := statusOf(old), statusOf(stored)
		a.wroteStatus = true
		h.judge(a, before, after)
	case bindingPolicyKind, manifestWorkKind, applicationKind:
		h.note("player %d: %s %s %s version %d", a.nth, verb, k.kind.Kind, k.name, versionIn(orNothing(stored)))
		if !a.wroteStatus {
			h.broken("S12: player %d writes %s without having written the status", a.nth, k.name)
		}
		letGo := k.kind == applicationKind && versionIn(orNothing(stored)) == 0
		if stored != nil && old != nil && versionIn(stored) < versionIn(old) && old.GetDeletionTimestamp() == nil && !letGo {
			h.broken("S12: %s goes from version %d back to %d", k.name, versionIn(old), versionIn(stored))
		}
		if k.kind == bindingPolicyKind {
			h.checkBreak(a, k, old, stored)
			h.checkFreeze(a, old, stored)
		} else if stored == nil && k.kind == manifestWorkKind {
			h.checkWithdrawal(a, k.name.Namespace)
		}
		h.noteOrdered(k, old, stored)
	}
}

func orNothing(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if obj == nil {
		return &unstructured.Unstructured{}
	}
	return obj
}

// records are the records of the clusters in a status.
func records(s v1alpha1.Status) map[string]v1alpha1.ClusterRecord {
	all := map[string]v1alpha1.ClusterRecord{}
	for _, c := range s.Cohorts {
		for _, name := range c.Clusters {
			all[name] = c.ClusterRecord
		}
	}
	return all
}

func stageIn(s v1alpha1.Status, name string) v1alpha1.StageStatus {
	for _, rec := range s.Stages {
		if rec.Name == name {
			return rec
		}
	}
	return v1alpha1.StageStatus{Name: name, Phase: v1alpha1.Pending}
}

// sees are the labels of a cluster as a player sees them.
func (a *actor) sees(cluster string) map[string]any {
	labels := map[string]any{}
	for name, value := range a.inventory[cluster] {
		labels[name] = value
	}
	return labels
}

// required returns the clusters that a stage waits for, as a player sees them. The status names late
// clusters and clusters that are set aside.
func (h *history) required(a *actor, s v1alpha1.Status, d design, i int) (names []string) {
	rec := stageIn(s, d.stages[i].name)
	aside := map[string]bool{}
	for _, b := range rec.Batches {
		for _, name := range b.Late {
			aside[name] = true
		}
		if b.SetAside != "" && len(b.Clusters) > 0 && d.stages[i].concurrency < 0 {
			aside[b.Clusters[0]] = true
		}
	}
	for _, name := range sortedNames(a.inventory) {
		if d.stages[i].selects(a.sees(name)) && !aside[name] && records(s)[name].SetAside == "" {
			names = append(names, name)
		}
	}
	return names
}

// shows reports whether the reports that a player sees of a cluster say that it is ready.
func (h *history) shows(a *actor, cluster string) bool {
	one := func(obj *unstructured.Unstructured) bool {
		n, _, _ := unstructured.NestedInt64(obj.Object, "status", "ready")
		return n == 1
	}
	switch h.kind {
	case overSpace:
		n := 0
		for k, obj := range a.seen {
			if k.kind == workStatusKind && k.name.Namespace == cluster {
				if n++; !one(obj) {
					return false
				}
			}
		}
		return n > 0
	case overArgo:
		app := a.seen[key{applicationKind, types.NamespacedName{Namespace: "argocd", Name: "web-" + cluster}}]
		health, _, _ := unstructured.NestedString(orNothing(app).Object, "status", "health", "status")
		return health == "Healthy"
	case overOCM:
		work := a.seen[key{manifestWorkKind, types.NamespacedName{Namespace: cluster, Name: "stagecraft-s"}}]
		manifests, _, _ := unstructured.NestedSlice(orNothing(work).Object, "status", "resourceStatus", "manifests")
		for _, m := range manifests {
			values, _, _ := unstructured.NestedSlice(m.(map[string]any), "statusFeedback", "values")
			for _, v := range values {
				n, _, _ := unstructured.NestedInt64(v.(map[string]any), "fieldValue", "integer")
				if v.(map[string]any)["name"] == "ready" && n != 1 {
					return false
				}
			}
			if len(values) == 0 {
				return false
			}
		}
		return len(manifests) > 0
	}
	return true
}

// check is what is looked at after each action.
func (h *history) check() {
	for name := range h.members {
		if h.arrived[name] == nil && len(h.members[name].objects) > 0 {
			h.arrived[name] = map[version]time.Time{}
		}
	}
}

// A look is a decision of some player.
type look struct {
	at        time.Time
	witnessed time.Duration // since the beginning: a pause between two looks counts for a minute at most (2.4)
}

// deciding notes that a player decides.
func (h *history) deciding(a *actor) {
	a.wroteStatus = false
	next := look{at: h.now}
	if n := len(h.looks); n > 0 {
		next.witnessed = h.looks[n-1].witnessed + min(h.now.Sub(h.looks[n-1].at), time.Minute)
	}
	h.looks = append(h.looks, next)
}

// witnessedSince returns for how long players have looked since a time.
func (h *history) witnessedSince(at time.Time) time.Duration {
	n := slices.IndexFunc(h.looks, func(l look) bool { return !l.at.Before(at) })
	return h.looks[len(h.looks)-1].witnessed - h.looks[n].witnessed + min(h.looks[n].at.Sub(at), time.Minute)
}

// holds returns the BindingPolicies, one apart, that hold a cluster by a Binding.
func (h *history) holds(cluster, but string) (names []string) {
	for _, p := range h.hub.list(bindingPolicyKind) {
		b := h.hub.get(bindingKind, "", p.GetName())
		if p.GetName() == but || p.GetDeletionTimestamp() != nil || b == nil || b.GetOwnerReferences()[0].UID != p.GetUID() || !selectsMember(p, h.members[cluster].labels) {
			continue
		}
		destinations, _, _ := unstructured.NestedSlice(b.Object, "spec", "destinations")
		if slices.ContainsFunc(destinations, func(d any) bool { return d.(map[string]any)["clusterId"] == cluster }) {
			names = append(names, p.GetName())
		}
	}
	return names
}

// isCovered reports whether another BindingPolicy holds a cluster: by its Binding, and on K1 by a ManifestWork
// that was applied there.
func (h *history) isCovered(m *member, but string) bool {
	return slices.ContainsFunc(h.holds(m.name, but), func(name string) bool {
		work := h.space.get(manifestWorkKind, m.name, name)
		return h.kind == overHub || work != nil && m.applied[string(work.GetUID())] > 0
	})
}

// checkBreak is S3 where it is decided: a write takes a cluster out of a BindingPolicy, and no other one
// holds it.
func (h *history) checkBreak(a *actor, k key, old, stored *unstructured.Unstructured) {
	if old == nil || old.GetDeletionTimestamp() != nil {
		return
	}
	for _, name := range sortedNames(h.members) {
		m := h.members[name]
		if !selectsMember(old, m.labels) || stored != nil && selectsMember(stored, m.labels) {
			continue
		}
		if len(m.objects) == 0 { // it has nothing to lose: what is still under way goes again
			h.released[name] = true
			continue
		}
		if h.isCovered(m, k.name.Name) {
			h.released[name] = h.released[name] || h.kind == overHub // there a Binding stands for the delivery
			continue
		}
		h.checkWithdrawal(a, name)
	}
}

// checkWithdrawal is S3 and S4: the workload is taken from a cluster.
func (h *history) checkWithdrawal(a *actor, name string) {
	m := h.members[name]
	h.released[name] = true
	if m == nil || !maps.Equal(m.labels, a.sees(name)) || h.trust && !h.kind.places() || h.others {
		return // what has changed since the player looked cannot be called back
	}
	s := h.status()
	d := h.designAt(s.ObservedGeneration)
	i, active := d.stageOf(m.labels), d.index(s.ActiveStage)
	rec := records(s)[name]
	h.counts["withdrawals"]++
	switch {
	case rec.Desired == v1alpha1.Withdrawn:
		if (h.baseline[name] != version{}) && !h.vouches(a, name, d) {
			h.broken("S4: cluster %s had the workload before the policy came, and is withdrawn", name)
		}
	case i >= 0 && d.stages[i].withdraw && !d.staged && !h.kind.places(): // the author vouches for it
	case d.keep:
		h.broken("S3: cluster %s of stage %d (active %d) loses the workload under retention Keep", name, i, active)
	case active >= 0 && d.stages[active].selects(m.labels):
		h.broken("S3: cluster %s of the active stage loses the workload", name)
	case i > active && !d.restart:
		h.broken("S3: cluster %s of a later stage loses the workload", name)
	default:
		for _, other := range sortedNames(h.members) {
			if o := h.members[other]; active >= 0 && d.stages[active].selects(o.labels) && len(o.objects) == 0 && (h.kind.content() || len(h.holds(other, "")) == 0) && maps.Equal(o.labels, a.sees(other)) && d.stages[active].concurrency == 0 {
				h.broken("S3: cluster %s loses the workload, and %s of the active stage does not have it yet", name, other)
			}
		}
	}
}

// checkFreeze is S9: a cluster under way keeps its way until the revision was observed there.
func (h *history) checkFreeze(a *actor, old, stored *unstructured.Unstructured) {
	if old == nil || stored == nil || !isHeld(stored) || isHeld(old) || h.kind != overSpace {
		return
	}
	s := h.status()
	for name, rec := range records(s) {
		m := h.members[name]
		if m == nil || !selectsMember(stored, m.labels) || rec.Desired != s.Wanted || s.Wanted == "" || rec.Back != "" {
			continue
		}
		if _, had := h.arrived[name][h.versions[s.Wanted]]; had && rec.Applied == s.Wanted {
			continue
		}
		if h.versions[s.Wanted] == h.source() && !h.trust && h.stable(a) && stageIn(s, rec.Stage).Phase == v1alpha1.Progressing && len(h.holds(name, stored.GetName())) == 0 {
			h.broken("S9: cluster %s is held before it was observed to have %s", name, h.versions[s.Wanted])
		}
	}
}

// stable reports whether a player has seen the newest source and labels.
func (h *history) stable(a *actor) bool {
	for _, kind := range []key{{kind: deploymentKind}, {kind: stagedPolicyKind}} {
		if a.shown[kind.kind] < len(h.hub.changes[kind.kind]) {
			return false
		}
	}
	return !slices.ContainsFunc(sortedNames(h.members), func(name string) bool { return !maps.Equal(h.members[name].labels, a.sees(name)) })
}

func conditionOf(s v1alpha1.Status, kind string) (holds bool, message string) {
	for _, c := range s.Conditions {
		if c.Type == kind {
			return c.Status == "True", c.Message
		}
	}
	return false, ""
}

func hasFailedPhase(p v1alpha1.Phase) bool {
	return slices.Contains([]v1alpha1.Phase{v1alpha1.Failed, v1alpha1.RollingBack, v1alpha1.RolledBack, v1alpha1.RollbackNeeded}, p)
}

// approvedIn is the step in which somebody approved; 0: no approval.
func approvedIn(by string) (step int) {
	_, _ = fmt.Sscanf(strings.TrimSpace(by), "who%d", &step)
	return step
}
