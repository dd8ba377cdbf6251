package staged_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A hubState is what the hub holds at one moment. What it points to is never changed.
type hubState struct {
	variant, generation, version int // of the StagedBindingPolicy
	annotations                  map[string]string
	status                       v1alpha1.Status
	policies                     map[string]*control.BindingPolicy
	bindings                     map[string]*control.Binding
	statuses                     map[string]*control.CombinedStatus
	reports                      []bindingpolicy.Report
	clusters                     map[string]map[string]string
}

// A model is a hub, its clusters and players, and what it knows about what must hold.
type model struct {
	variants  []*variant
	now       time.Time
	hub       hubState
	past      []hubState // what stale readers may see
	ready     map[string]bool
	bad       map[string]bool
	silent    map[string]bool
	workload  int
	have      map[string]int                    // the version of the workload in a cluster; absent: none
	frozen    map[string]bool                   // BindingPolicies that get createOnly by the decision that was written last
	decidedOn map[string]*control.BindingPolicy // what that decision has seen
	returned  map[string]time.Time              // when a cluster has reported last
	bound     map[int]time.Time                 // since when a Binding has a version of the workload
	status    map[string]string                 // what a cluster has reported last
	uids      int
	players   [3]playerModel

	passed    map[string]bool // stages that were seen satisfied, or skipped, since they were entered
	rollbacks int             // since the last edit
	losses    int             // of the status
	steps     int
	disturbed map[string]int // the step in which somebody else has deleted a BindingPolicy

	batchRollbacks int // since the last edit
	fault          string
	verbose        bool
	log            []string
	said           string

	writes, decisions, conflicts, overtaken, updates, reportedAgain int
}

// A playerModel is a program that decides and writes. It may stop between any two writes.
type playerModel struct {
	seen   hubState
	at     time.Time // when it has decided
	step   int
	losses int // of the status, before that
	writes []write
}

// A write is one write of a decision.
type write struct {
	kind string // status, ensure, remove
	name string
	want *control.BindingPolicy
	d    bindingpolicy.Decision
}

func newModel(variants []*variant) *model {
	m := &model{variants: variants, now: start, ready: map[string]bool{}, bad: map[string]bool{}, passed: map[string]bool{},
		silent: map[string]bool{}, have: map[string]int{}, returned: map[string]time.Time{}, bound: map[int]time.Time{}, status: map[string]string{}, disturbed: map[string]int{}}
	m.hub = hubState{generation: 1, version: 1, clusters: map[string]map[string]string{}, policies: map[string]*control.BindingPolicy{},
		bindings: map[string]*control.Binding{}, statuses: map[string]*control.CombinedStatus{}}
	for i, env := range []string{"a", "b", "c"} {
		for k := range 1 + (len(variants[0].stages)+i)%3 {
			m.setCluster(fmt.Sprintf("%s%d", env, k), env)
		}
	}
	m.remember()
	return m
}

func (m *model) setCluster(name, env string) {
	m.hub.clusters = maps.Clone(m.hub.clusters)
	if env == "" {
		delete(m.hub.clusters, name)
		return
	}
	m.hub.clusters[name] = map[string]string{"env": env, "name": name}
}

func (m *model) remember() {
	m.past = append(m.past, m.hub)
	if len(m.past) > 6 {
		m.past = slices.Delete(m.past, 0, 1)
	}
}

func (m *model) note(format string, args ...any) {
	if m.verbose {
		m.log = append(m.log, fmt.Sprintf(format, args...))
	}
}

func (m *model) broken(format string, args ...any) {
	if m.fault == "" {
		m.fault = fmt.Sprintf(format, args...)
		m.note("BROKEN %s", m.fault)
	}
}

func (m *model) variant() *variant { return m.variants[m.hub.variant] }

// env is an environment, or "none" for clusters that no stage wants.
func env(n uint32) string { return []string{"a", "b", "c", "a", "b", "c", "none"}[n%7] }

// step lets something happen.
func (m *model) step(o op) {
	m.steps++
	switch o.kind {
	case "round":
		m.decide(0, m.hub)
		for m.write(0) {
		}
		m.kubestellar()
	case "player":
		if p := int(o.a % 3); !m.write(p) {
			m.decide(p, m.stale(o))
		}
	case "kubestellar":
		m.kubestellar()
	case "crash":
		m.players[o.a%3] = playerModel{}
	case "time":
		m.now = m.now.Add(time.Duration(o.a%8000) * time.Millisecond)
	case "clock":
		m.jump(o)
	case "drift", "gone":
		m.disturb(o)
	default:
		m.happen(o)
	}
	if m.verbose {
		m.note("%s %d: active %q, %s, served %v", o.kind, o.a%3, m.hub.status.ActiveStage, m.phases(), m.served())
	}
	m.remember()
}

// happen is what users and clusters do.
func (m *model) happen(o op) {
	names := slices.Sorted(maps.Keys(m.hub.clusters))
	pick := func(n uint32) string { return names[int(n)%len(names)] }
	switch o.kind {
	case "ready":
		for i, name := range names {
			m.ready[name] = o.a>>(i%16)&3 > 0
		}
	case "silent":
		m.silent[pick(o.a)] = o.b%3 > 0
	case "bad":
		m.bad[pick(o.a)] = o.b%3 == 0
	case "join":
		m.setCluster(fmt.Sprintf("j%d", o.a%20), env(o.b))
	case "leave":
		if len(names) > 2 {
			m.setCluster(pick(o.a), "")
		}
	case "relabel":
		m.setCluster(pick(o.a), env(o.b))
	case "edit":
		m.hub.variant = int(o.a) % len(m.variants)
		m.hub.generation++
		m.hub.version++
	case "approve":
		m.approveAll(strconv.Itoa(int(o.a)))
	case "retry":
		m.retryAll(strconv.Itoa(int(o.a)))
	case "lose":
		m.hub.status = v1alpha1.Status{}
		m.hub.version++
		m.now = m.now.Add(2 * time.Second) // a backup is not restored faster
		m.rollbacks, m.batchRollbacks = 0, 0
		m.losses++
		m.past = nil
	case "workload":
		m.workload++
	}
}

// jump is one decision at a wrong time.
func (m *model) jump(o op) {
	right := m.now
	m.now = m.now.Add(time.Duration(int(o.a%4000)-2000) * time.Hour)
	m.decide(0, m.hub)
	for m.write(0) {
	}
	m.now = right
}

// disturb is what others do to BindingPolicies: they delete one, or the last step of a deletion.
func (m *model) disturb(o op) {
	for _, name := range slices.Sorted(maps.Keys(m.hub.policies)) {
		p := m.hub.policies[name]
		switch {
		case o.kind == "gone" && p.DeletionTimestamp != nil:
			m.setPolicy(name, nil)
			return
		case o.kind == "drift" && p.DeletionTimestamp == nil && o.a%4 == 0:
			m.terminate(p)
			m.disturbed[name] = m.steps
			return
		}
	}
}

func (m *model) setPolicy(name string, p *control.BindingPolicy) {
	m.hub.policies = maps.Clone(m.hub.policies)
	if p == nil {
		delete(m.hub.policies, name)
		return
	}
	m.hub.policies[name] = p
}

// terminate deletes a BindingPolicy, which has KubeStellar's finalizer.
func (m *model) terminate(p *control.BindingPolicy) {
	gone := *p
	gone.DeletionTimestamp = &metav1.Time{Time: m.now}
	m.uids++
	gone.ResourceVersion = strconv.Itoa(m.uids)
	m.setPolicy(p.Name, &gone)
}

// stale is what a player sees: mostly what is, sometimes the StagedBindingPolicy, the
// BindingPolicies or the rest as they were some time ago.
func (m *model) stale(o op) hubState {
	seen := m.hub
	if len(m.past) == 0 || o.b%2 == 0 {
		return seen
	}
	at := func(n uint32) hubState { return m.past[int(n)%len(m.past)] }
	if o.c&1 > 0 {
		was := at(o.c >> 4)
		seen.variant, seen.generation, seen.version, seen.annotations, seen.status = was.variant, was.generation, was.version, was.annotations, was.status
	}
	if o.c&2 > 0 {
		seen.policies = at(o.c >> 8).policies
	}
	if o.c&4 > 0 {
		was := at(o.c >> 12)
		seen.bindings, seen.statuses, seen.reports = was.bindings, was.statuses, was.reports
	}
	if o.c&8 > 0 {
		seen.clusters = at(o.c >> 16).clusters
	}
	return seen
}

// decide makes a decision of a player from what it sees.
func (m *model) decide(n int, seen hubState) {
	m.decisions++
	v := m.variants[seen.variant]
	d := bindingpolicy.Decide(v.policy, seen.status, m.observation(seen), m.now)
	p := playerModel{seen: seen, at: m.now, step: m.steps, losses: m.losses, writes: []write{{kind: "status", d: d}}}
	for _, want := range d.Ensure {
		old := seen.policies[want.Name]
		if old != nil && (old.DeletionTimestamp != nil || sameAsStored(old, want)) {
			continue
		}
		p.writes = append(p.writes, write{kind: "ensure", name: want.Name, want: want})
	}
	for _, name := range d.Remove {
		p.writes = append(p.writes, write{kind: "remove", name: name})
	}
	m.players[n] = p
	m.checkReason(v, seen, d)
}

func sameAsStored(a, b *control.BindingPolicy) bool {
	return a.Annotations[v1alpha1.VersionAnnotation] == b.Annotations[v1alpha1.VersionAnnotation] &&
		a.Spec.Downsync[0].CreateOnly == b.Spec.Downsync[0].CreateOnly && sameSelectors(a.Spec.ClusterSelectors, b.Spec.ClusterSelectors)
}

func sameSelectors(a, b []metav1.LabelSelector) bool {
	return slices.EqualFunc(a, b, func(x, y metav1.LabelSelector) bool {
		return maps.Equal(x.MatchLabels, y.MatchLabels) && slices.EqualFunc(x.MatchExpressions, y.MatchExpressions,
			func(e, f metav1.LabelSelectorRequirement) bool { return slices.Equal(e.Values, f.Values) })
	})
}

func (m *model) observation(seen hubState) bindingpolicy.Observation {
	o := bindingpolicy.Observation{Meta: metav1.ObjectMeta{Name: "s", UID: "sbp", ResourceVersion: strconv.Itoa(seen.version), Generation: int64(seen.generation), Annotations: seen.annotations}, Clusters: seen.clusters, Reports: seen.reports}
	for _, p := range seen.policies {
		o.BindingPolicies = append(o.BindingPolicies, p)
	}
	for _, b := range seen.bindings {
		o.Bindings = append(o.Bindings, b)
	}
	for _, s := range seen.statuses {
		o.Statuses = append(o.Statuses, s)
	}
	return o
}

// write carries out the next write of a player. It is false without one.
func (m *model) write(n int) bool {
	p := &m.players[n]
	if len(p.writes) == 0 {
		return false
	}
	w := p.writes[0]
	p.writes = p.writes[1:]
	m.writes++
	old := p.seen.policies[w.name]
	now := m.hub.policies[w.name]
	ok := true
	switch w.kind {
	case "status":
		if ok = p.seen.version == m.hub.version; ok {
			m.writeStatus(p, w.d)
		}
	case "ensure":
		if ok = old == nil && now == nil || old != nil && now != nil && now.ResourceVersion == old.ResourceVersion; ok {
			m.ensure(w.want, now)
		}
	case "remove":
		if ok = now != nil && now.ResourceVersion == old.ResourceVersion; ok {
			before := m.served()
			m.note("player %d removes %s", n, w.name)
			m.terminate(now)
			m.checkRemoval(p, before, w.name)
		}
	}
	if !ok {
		m.conflicts++
		p.writes = nil
	}
	return true
}

func (m *model) ensure(want, now *control.BindingPolicy) {
	stored := *want
	m.uids++
	stored.ResourceVersion, stored.UID = strconv.Itoa(m.uids), types.UID(fmt.Sprintf("u%d", m.uids))
	if now != nil {
		stored.UID = now.UID
	}
	before := m.served()
	m.note("a player ensures %s %v", want.Name, want.Annotations)
	m.setPolicy(want.Name, &stored)
	m.checkKept(before, want.Name)
}

func (m *model) writeStatus(p *playerModel, d bindingpolicy.Decision) {
	before := m.hub.status
	m.hub.status = d.Status
	m.hub.version++
	if d.Message != m.said {
		m.note("status: %s", d.Message)
	}
	m.said = d.Message
	m.frozen, m.decidedOn = map[string]bool{}, p.seen.policies
	for _, want := range d.Ensure {
		m.frozen[want.Name] = want.Spec.Downsync[0].CreateOnly
	}
	m.checkRollbacks(p.seen, d)
	m.checkWindows(p, before, d)
	m.checkOrder(p.seen, before, d)
}

// selects reports whether a BindingPolicy selects a cluster with these labels.
func selects(p *control.BindingPolicy, have map[string]string) bool {
	for _, s := range p.Spec.ClusterSelectors {
		if s.MatchLabels != nil && s.MatchLabels["env"] == have["env"] {
			return true
		}
		for _, e := range s.MatchExpressions {
			if slices.Contains(e.Values, have["name"]) {
				return true
			}
		}
	}
	return false
}

// served returns which BindingPolicies serve each cluster.
func (m *model) served() map[string][]string {
	all := map[string][]string{}
	for name, p := range m.hub.policies {
		if p.DeletionTimestamp != nil {
			continue
		}
		for c, have := range m.hub.clusters {
			if selects(p, have) {
				all[c] = append(all[c], name)
			}
		}
	}
	return all
}

// kubestellar brings the clusters, Bindings and CombinedStatuses up to date.
func (m *model) kubestellar() {
	m.deliver()
	m.hub.bindings, m.hub.statuses, m.hub.reports = map[string]*control.Binding{}, map[string]*control.CombinedStatus{}, nil
	for name, p := range m.hub.policies {
		if p.DeletionTimestamp == nil {
			m.bind(name, p)
		}
	}
}

// bind makes the Binding of a BindingPolicy, and what is reported of it.
func (m *model) bind(name string, p *control.BindingPolicy) {
	b := &control.Binding{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{UID: p.UID}}}}
	ready, bad := 0, 0
	for c, have := range m.hub.clusters {
		if !selects(p, have) {
			continue
		}
		b.Spec.Destinations = append(b.Spec.Destinations, control.Destination{ClusterID: c})
		if m.ready[c] {
			ready++
		}
		if m.bad[c] {
			bad++
		}
	}
	slices.SortFunc(b.Spec.Destinations, func(x, y control.Destination) int { return strings.Compare(x.ClusterID, y.ClusterID) })
	b.Spec.Workload.NamespaceScope = webClause(m.workload, p.Spec.Downsync[0].CreateOnly)
	m.hub.bindings[name] = b
	m.hub.statuses[name] = counts(name, string(p.UID), ready, bad)
	m.report(name, b)
}

func webClause(version int, createOnly bool) []control.DownsyncClause {
	return []control.DownsyncClause{{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop", Name: "web", ResourceVersion: strconv.Itoa(version),
		DownsyncModulation: control.DownsyncModulation{CreateOnly: createOnly, StatusCollectors: []string{"agg"}}}}
}

// counts is the CombinedStatus of a BindingPolicy.
func counts(name, uid string, ready, bad int) *control.CombinedStatus {
	number := func(n int) control.Value {
		text := strconv.Itoa(n)
		return control.Value{Type: "Number", Number: &text}
	}
	return &control.CombinedStatus{
		ObjectMeta: metav1.ObjectMeta{Name: "web." + uid, Labels: map[string]string{
			"status.kubestellar.io/binding-policy": name, "status.kubestellar.io/api-group": "apps", "status.kubestellar.io/resource": "deployments",
			"status.kubestellar.io/namespace": "shop", "status.kubestellar.io/name": "web",
		}},
		Results: []control.NamedStatusCombination{{Name: "agg", ColumnNames: []string{"ready", "bad"},
			Rows: []control.StatusCombinationRow{{Columns: []control.Value{number(ready), number(bad)}}}}},
	}
}

func (m *model) phases() string {
	var all []string
	for _, s := range m.hub.status.Stages {
		all = append(all, s.Name+" "+string(s.Phase))
	}
	return strings.Join(all, ", ")
}
