package staged_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// stageNameOf is the stage of a BindingPolicy, by its name.
func stageNameOf(v *variant, bindingPolicy string) string {
	of := strings.TrimPrefix(bindingPolicy, "s.stage.")
	if v.index(of) >= 0 {
		return of
	}
	name, _, _ := strings.Cut(of, ".")
	return name
}

// checkOrder is invariant (a): a stage that is entered comes after stages that were passed, in the
// spec and the view of the player that enters it.
func (m *model) checkOrder(seen hubState, before v1alpha1.Status, d bindingpolicy.Decision) {
	v := m.variants[seen.variant]
	was, is := v.index(before.ActiveStage), v.index(d.Status.ActiveStage)
	if is < 0 {
		return
	}
	if happened(d, "StatusLost") {
		for _, rec := range d.Status.Stages {
			m.passed[rec.Name] = rec.Phase == v1alpha1.Succeeded || rec.Phase == v1alpha1.Skipped
		}
		return
	}
	if happened(d, "NewRevision") {
		m.passed = map[string]bool{}
	}
	rec := d.Status.Stages[is]
	entered := is != was || happened(d, "WentBack")
	for k := range v.stages[:is] {
		s := v.stages[k]
		phase := stageStatus(d.Status, s.name).Phase
		switch {
		case m.passed[s.name]:
		case phase == v1alpha1.Skipped && s.skip && !hasClusters(seen, s.env):
			m.passed[s.name] = true
		case phase == v1alpha1.Failed && s.onFailure == "Continue":
			m.passed[s.name] = true
		case phase == v1alpha1.Succeeded && (k >= was || happened(d, "WentBack") || passedNow(before, d.Status, s.name)) && satisfied(s, seen):
			m.passed[s.name] = true
		case entered:
			m.broken("a: stage %s is entered, and %s (%s) was not passed", rec.Name, s.name, phase)
			return
		}
	}
	for k := is; k < len(v.stages) && entered; k++ {
		m.passed[v.stages[k].name] = false
	}
}

// passedNow reports whether a stage was passed by the decision that has led from one status to the
// next.
func passedNow(before, after v1alpha1.Status, name string) bool {
	was, is := stageStatus(before, name), stageStatus(after, name)
	return was.Phase != is.Phase || !was.CompletedAt.Equal(is.CompletedAt)
}

func stageStatus(s v1alpha1.Status, name string) v1alpha1.StageStatus {
	for _, rec := range s.Stages {
		if rec.Name == name {
			return rec
		}
	}
	return v1alpha1.StageStatus{}
}

func hasClusters(seen hubState, env string) bool {
	for _, have := range seen.clusters {
		if have["env"] == env {
			return true
		}
	}
	return false
}

// satisfied reports whether all clusters that the BindingPolicies of a stage bind are ready, in
// what was seen, except clusters that may be set aside.
func satisfied(s stageSpec, seen hubState) bool {
	bound, missing := 0, 0
	for name, b := range seen.bindings {
		of := strings.TrimPrefix(name, "s.stage.")
		if of != s.name && !strings.HasPrefix(of, s.name+".") || seen.policies[name] == nil {
			continue
		}
		if (of == s.name) != (s.batch == 0) || b.OwnerReferences[0].UID != seen.policies[name].UID {
			continue
		}
		if s.batch != 0 && !slices.ContainsFunc(b.Spec.Destinations, func(c control.Destination) bool { return seen.clusters[c.ClusterID]["env"] == s.env }) {
			continue // its clusters have left the stage
		}
		ready, err := strconv.Atoi(*seen.statuses[name].Results[0].Rows[0].Columns[0].Number)
		if err != nil {
			return false
		}
		bound += len(b.Spec.Destinations)
		missing += len(b.Spec.Destinations) - ready
	}
	allowed := 0
	if s.batch < 0 {
		allowed = s.mayBeFaulty
	}
	return bound > missing && missing <= allowed || bound == 0 && s.skip
}

// checkKept is invariant (b), after a write of a BindingPolicy.
func (m *model) checkKept(before map[string][]string, written string) {
	v, s := m.variant(), m.hub.status
	if s.ObservedGeneration != int64(m.hub.generation) {
		return // no player has seen the newest spec yet
	}
	active := v.index(s.ActiveStage)
	after := m.served()
	for c, by := range before {
		if len(after[c]) > 0 {
			continue
		}
		for _, name := range by {
			i := v.index(stageNameOf(v, name))
			if i < 0 || v.stages[i].env != m.hub.clusters[c]["env"] || i > active {
				continue
			}
			if m.isRolledBack(v, i, name) {
				continue
			}
			phase := stageStatus(s, v.stages[i].name).Phase
			keeps := v.keep && (phase == v1alpha1.Succeeded || phase == v1alpha1.Failed)
			if (i == active || keeps) && m.isClaimed(name) {
				m.broken("b: cluster %s lost the workload of stage %s (%s) when %s was written", c, v.stages[i].name, phase, written)
			}
		}
	}
}

// checkRemoval is invariant (b), after a removal. One that was decided on what has changed since
// cannot be called back: see isOvertaken.
func (m *model) checkRemoval(p *playerModel, before map[string][]string, name string) {
	n := slices.IndexFunc(m.hub.status.Placements, func(o v1alpha1.OwnedPlacement) bool { return o.Name == name })
	if p.losses < m.losses && n >= 0 && m.hub.status.Placements[n].Spec == "" {
		m.overtaken++ // the recovered status has not written it, because its stage has it from an earlier spec
		return
	}
	for c := range before {
		if m.isOvertaken(p, c, name) {
			delete(before, c)
			m.overtaken++
		}
	}
	m.checkKept(before, name)
}

// isOvertaken reports whether what led to a removal has changed for a cluster: it has another label,
// or somebody else has deleted the BindingPolicy that was seen to serve it as well.
func (m *model) isOvertaken(p *playerModel, cluster, name string) bool {
	have := p.seen.clusters[cluster]
	if have["env"] != m.hub.clusters[cluster]["env"] {
		return true
	}
	for other, policy := range p.seen.policies {
		if other != name && policy.DeletionTimestamp == nil && m.disturbed[other] > p.step && selects(policy, have) {
			return true
		}
	}
	return false
}

// isClaimed reports whether the stored status knows a BindingPolicy as it was before the last write:
// one that is wanted again serves from when it has its new version.
func (m *model) isClaimed(name string) bool {
	for _, o := range m.hub.status.Placements {
		if o.Name == name {
			was := m.past[len(m.past)-1].policies[name]
			return was != nil && was.Annotations[v1alpha1.VersionAnnotation] == strconv.FormatInt(o.Version, 10)
		}
	}
	return false
}

var (
	valueReason  = regexp.MustCompile(`deployments\.apps shop/web in ([a-z0-9, ]+?)(?: and \d+ more)?: num\("ready"\) is (\d+), want size\(destinations\), that is (\d+)`)
	knownReasons = regexp.MustCompile(`^stage "\w+"(?: is not started: (?:paused|waits for the annotation|waits for a window: the next opens at \d{4}-)|: batch \d+ of \d+ waits for a window: the next opens at \d{4}-|: BindingPolicy s\.stage\.[\w.]+ (?:does not exist yet|has no Binding yet|is not updated yet|is being deleted)` +
		`|: (?:\w+: )?no status of the bound workload from [a-z0-9, ]+ \(deployments\.apps shop/web\)` +
		`|: the Binding s\.stage\.[\w.]+ (?:is that of an earlier|has no destination (?:\w+ )?yet|does not let new versions through yet)|: (?:\w+: )?the condition must hold until \d{4}-|: paused| was rolled back until the spec changes: |: \d+ destinations, want at least \d+ of the \d+ clusters` +
		`|: \w+: \d+ destinations, want|: \w+: the condition must hold until \d\d:|: \w+: BindingPolicy|: \w+: the Binding|: \w+: deployments)`)
	failedReason = regexp.MustCompile(`failureCondition is true for deployments\.apps shop/web in [a-z0-9, ]+(?: and \d+ more)?: saw agg: ready = \d+, bad = [1-9]|the condition did not hold within 20s: .+`)
)

// checkReason is invariant (e): a rollout that is not over says why, and what it says is so.
func (m *model) checkReason(v *variant, seen hubState, d bindingpolicy.Decision) {
	for _, c := range d.Status.Conditions {
		if c.Type == "Succeeded" && c.Status == "True" {
			return
		}
		if c.Message != d.Message {
			m.broken("e: condition %s says %q, not %q", c.Type, c.Message, d.Message)
		}
	}
	text := d.Message
	switch match := valueReason.FindStringSubmatch(text); {
	case match != nil:
		m.checkValues(seen, text, match)
	case strings.Contains(text, "has failed: "), strings.Contains(text, "was rolled back"):
		if !failedReason.MatchString(text) && !strings.Contains(text, "num(\"ready\")") {
			m.broken("e: no value in %q", text)
		}
	case strings.HasPrefix(text, "the active stage ") && strings.HasSuffix(text, "is not in the spec"):
	case text == "the selectors of no stage match a cluster", strings.HasPrefix(text, "waits for the delivery to "):
	case !knownReasons.MatchString(text):
		m.broken("e: %q names nothing that is known", text)
	}
}

// checkValues checks that the clusters and the values of a reason are those of one Binding.
func (m *model) checkValues(seen hubState, text string, match []string) {
	for name, b := range seen.bindings {
		var first []string
		for _, dest := range b.Spec.Destinations[:min(3, len(b.Spec.Destinations))] {
			first = append(first, dest.ClusterID)
		}
		ready := *seen.statuses[name].Results[0].Rows[0].Columns[0].Number
		if match[1] == strings.Join(first, ", ") && match[2] == ready && match[3] == strconv.Itoa(len(b.Spec.Destinations)) {
			return
		}
	}
	if !strings.Contains(text, "did not hold within") { // that is a value of the past
		m.broken("e: no Binding has the clusters and values of %q", text)
	}
}

// end is invariant (d): when everything is well, the rollout comes to its end, and every cluster
// that should has the workload.
func (m *model) end() {
	m.players = [3]playerModel{}
	m.bad, m.silent = map[string]bool{}, map[string]bool{}
	m.kubestellar()
	m.retryAll("the end")
	if i := m.variant().index(m.hub.status.ActiveStage); m.hub.status.ActiveStage != "" && i < 0 {
		return // it is stalled until somebody names the active stage again
	}
	m.hub.version++
	m.rollbacks, m.batchRollbacks = 0, 0
	m.approveAll("the end")
	over := 0 // rounds in which nothing new was seen
	for turn := range 200 {
		for c := range m.hub.clusters {
			m.ready[c] = true
		}
		for name, p := range m.hub.policies {
			if p.DeletionTimestamp != nil {
				m.setPolicy(name, nil)
			}
		}
		if turn >= 100 && turn%20 == 0 && strings.Contains(m.hub.status.Conditions[0].Message, "no status of the bound") { // a version came between two reads, and its clusters have said all: see Staged updates
			m.status = map[string]string{}
			m.reportedAgain++
		}
		if turn%25 == 24 { // what was rolled back meanwhile is tried again, and what was approved before belongs to that
			m.retryAll(fmt.Sprint("the end ", turn))
		}
		if turn%5 == 4 {
			m.approveAll(fmt.Sprint("the end ", turn))
		}
		over++
		if m.step(op{kind: "round"}); !m.isOver() {
			over = 0
		}
		if m.fault != "" || over == 3 {
			break
		}
		m.now = m.now.Add(3 * time.Second)
	}
	m.checkEnd()
}

func (m *model) isOver() bool {
	for _, c := range m.hub.status.Conditions {
		if c.Type == "Succeeded" {
			return c.Status == "True"
		}
	}
	return false
}

// missedItsTurn reports whether a stage of the clusters of env has failed with a staged update, so
// that those whose turn had not come keep the version that they have.
func (m *model) missedItsTurn(env string) bool {
	v := m.variant()
	return v.updates && slices.ContainsFunc(v.stages, func(s stageSpec) bool {
		return s.env == env && stageStatus(m.hub.status, s.name).Phase == v1alpha1.Failed
	})
}

func (m *model) checkEnd() {
	v := m.variant()
	last := -1
	for i, s := range v.stages {
		has := hasClusters(m.hub, s.env)
		if s.paused || !has && !s.skip {
			return // it cannot end
		}
		if has {
			last = i
		}
	}
	if m.fault != "" || last < 0 || v.index(m.hub.status.ActiveStage) > last { // the last stage waits for clusters
		return
	}
	if !m.isOver() {
		m.broken("d: it does not end: %s", m.hub.status.Conditions[0].Message)
		return
	}
	served := m.served()
	for c, have := range m.hub.clusters {
		for i, s := range v.stages {
			phase := stageStatus(m.hub.status, s.name).Phase
			if s.env == have["env"] && (i == last || v.keep && phase != v1alpha1.Skipped) && len(served[c]) == 0 {
				m.broken("d: cluster %s of stage %s (%s) has nothing at the end", c, s.name, phase)
			}
		}
		if len(served[c]) > 0 && m.have[c] != m.workload+1 && !m.missedItsTurn(have["env"]) {
			m.broken("d: cluster %s (%s) has version %d of %d at the end", c, have["env"], m.have[c], m.workload+1)
		}
	}
	for c, names := range served {
		for _, name := range names {
			if i := v.index(stageNameOf(v, name)); i != last && !v.keep {
				m.broken("d: left over: %s serves %s", name, c)
			}
		}
	}
}
