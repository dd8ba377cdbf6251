package staged_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A store is a transport that can place any revision in any cluster, as Open Cluster Management and
// Argo CD can. Nothing happens before deliver.
type store struct {
	t        *testing.T
	policy   *staged.Policy
	meta     metav1.ObjectMeta
	status   v1alpha1.Status
	now      time.Time
	source   string
	clusters map[string]map[string]string
	told     map[string]fleet.Placement // what the transport was told, by cluster
	have     map[string]string          // the version in each cluster
	foreign  map[string]bool            // clusters that had the workload before
	bad      map[string]bool            // cluster@version that does not become ready
	offline  map[string]bool
	refused  map[string]bool   // clusters for which no order can be written
	unnamed  bool              // reports do not say which revision they are of
	reported map[string]string // the version of the last report
	versions int
	kept     []fleet.RevisionID // the snapshots that exist; nil: all
	last     staged.Decision
	seen     map[string][]string // the versions that a cluster ever had
	others   []v1alpha1.Conflict
}

func newStore(t *testing.T, text string, clusters ...string) *store {
	s := &store{t: t, policy: compile(t, text), meta: metav1.ObjectMeta{Name: "s", UID: "sbp", Generation: 1}, now: start, source: "1",
		clusters: map[string]map[string]string{}, told: map[string]fleet.Placement{}, have: map[string]string{}, foreign: map[string]bool{},
		bad: map[string]bool{}, offline: map[string]bool{}, reported: map[string]string{}, seen: map[string][]string{}}
	for _, c := range clusters {
		env, name, _ := strings.Cut(c, "/")
		s.clusters[name] = map[string]string{"env": env, "name": name}
	}
	return s
}

// world is what a player sees.
func (s *store) world() fleet.World {
	agg, err := aggregator()
	require.NoError(s.t, err)
	clause := control.DownsyncClause{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop", Name: "web", ResourceVersion: s.source}
	clause.StatusCollectors = []string{"agg"}
	w := fleet.World{Meta: s.meta, Conflicts: s.others, Now: fleet.Instant{Time: s.now, Known: true}, Collectors: map[string]*kubestellar.Collector{"agg": agg},
		Workload: fleet.Workload{Revision: idOf(s.source), Kept: s.kept, Objects: []*fleet.Object{{Clause: clause}}},
		Can:      fleet.Capabilities{Inventory: true, Content: true, OldRevision: true, ByName: true, Best: fleet.EvidenceExact, Kind: "ManifestWork", Bound: "ManifestWork"}}
	for _, name := range slices.Sorted(maps.Keys(s.clusters)) {
		c := fleet.Cluster{Name: name, Labels: s.clusters[name], Absent: s.have[name] == "" && !s.foreign[name]}
		if s.have[name] != "" {
			c.Applied = idOf(s.have[name])
			ready := int64(1)
			if s.bad[name+"@"+s.reported[name]] {
				ready = 0
			}
			ref := fleet.ObjectRef{Group: "apps", Resource: "deployments", Namespace: "shop", Name: "web"}
			c.Reports = []fleet.Report{{Object: ref, Revision: idOf(s.reported[name]), Evidence: fleet.EvidenceExact, Status: map[string]any{"availableReplicas": ready}}}
			if s.unnamed {
				c.Reports[0].Revision, c.Reports[0].Evidence = "", fleet.EvidenceNone
			}
		}
		w.Clusters = append(w.Clusters, c)
	}
	placed := map[string]fleet.Placement{}
	for _, c := range slices.Sorted(maps.Keys(s.told)) {
		p := placed[s.told[c].Name]
		p.Name, p.Stage, p.Ready, p.Open, p.Same, p.Revision = s.told[c].Name, s.told[c].Stage, true, true, true, s.told[c].Revision
		p.Version = max(p.Version, s.told[c].Version)
		p.Clusters, p.Has = append(p.Clusters, c), append(p.Has, c)
		placed[p.Name] = p
	}
	for _, name := range slices.Sorted(maps.Keys(placed)) {
		w.Placements = append(w.Placements, placed[name])
	}
	return w
}

// decide decides and writes, and checks that deciding again changes nothing.
func (s *store) decide() {
	s.t.Helper()
	d := s.policy.Decide(s.status, s.world())
	require.Equal(s.t, d.Status, s.policy.Decide(d.Status, s.world()).Status, "deciding again changes nothing")
	if fmt.Sprint(d.Status) != fmt.Sprint(s.status) {
		s.versions++
		s.meta.ResourceVersion = fmt.Sprint(s.versions)
	}
	s.status, s.last = d.Status, d
	for _, p := range d.Place {
		for _, c := range p.Clusters {
			if !s.refused[c] {
				s.told[c] = p
			}
		}
	}
	for _, name := range d.Remove {
		_, cluster, _ := strings.Cut(name, "/")
		require.True(s.t, s.have[cluster] == "" || !s.foreign[cluster], "the workload of %s, which had it before, is removed", cluster)
		delete(s.told, cluster)
	}
}

// deliver brings to clusters what the transport was told.
func (s *store) deliver() {
	for c := range s.clusters {
		p, told := s.told[c]
		switch {
		case s.offline[c]:
			continue
		case !told && !s.foreign[c]:
			delete(s.have, c)
		case told:
			version := strings.TrimPrefix(string(p.Revision), "sha256:")
			if s.have[c] != version {
				s.seen[c] = append(s.seen[c], version)
			}
			s.have[c] = version
		}
		s.reported[c] = s.have[c]
	}
}

// roll decides and delivers for a while.
func (s *store) roll(times int) {
	s.t.Helper()
	for range times {
		s.decide()
		s.deliver()
		s.now = s.now.Add(2 * time.Second)
	}
}

func (s *store) holds(condition string) bool {
	for _, c := range s.status.Conditions {
		if c.Type == condition {
			return c.Status == metav1.ConditionTrue
		}
	}
	return false
}

func (s *store) check(want map[string]string) {
	s.t.Helper()
	require.Equal(s.t, want, s.have, s.last.Message)
}

// record is what the status says of a cluster.
func (s *store) record(cluster string) v1alpha1.ClusterRecord {
	for _, c := range s.status.Cohorts {
		if slices.Contains(c.Clusters, cluster) {
			return c.ClusterRecord
		}
	}
	return v1alpha1.ClusterRecord{}
}

const stagedUpdates = keep + "  updates: Staged\n"

// A1: a failed update gives back what was there, and removes nothing.
func TestRollbackGivesBackWhatWasThere(t *testing.T) {
	for onFailure, want := range map[string]map[string]string{
		"Rollback":    {"d": "2", "p1": "1", "p2": "1"},
		"RollbackAll": {"d": "1", "p1": "1", "p2": "1"},
	} {
		text := policyText(stageText("dev", "dev"), stageText("prod", "prod", "progressDeadlineSeconds: 30", "onFailure: "+onFailure)) + stagedUpdates
		s := newStore(t, text, "dev/d", "prod/p1", "prod/p2")
		s.roll(8)
		require.True(t, s.holds("Succeeded"), s.last.Message)
		require.True(t, s.holds("Verified"))
		s.source, s.bad["p1@2"] = "2", true
		s.roll(6)
		s.check(map[string]string{"d": "2", "p1": "2", "p2": "2"})
		s.roll(30)
		s.check(want)
		require.Equal(t, v1alpha1.RolledBack, stageStatus(s.status, "prod").Phase, s.last.Message)
		require.False(t, s.holds("Succeeded"))
		require.True(t, s.holds("Stalled"))
		require.Contains(t, s.last.Message, "retry.community.kubestellar.io/prod=r2-2")
		require.Equal(t, "RolledBack", s.status.History[len(s.status.History)-1].Outcome)

		s.source = "3" // a fix
		s.roll(12)
		s.check(map[string]string{"d": "3", "p1": "3", "p2": "3"})
		require.True(t, s.holds("Succeeded"), s.last.Message)
	}
}

// RollbackBatch goes back in the clusters of the failed batch alone.
func TestRollbackOfABatchGivesBackWhatWasThere(t *testing.T) {
	text := policyText(stageText("prod", "prod", "maxConcurrency: 1", "progressDeadlineSeconds: 30", "onFailure: RollbackBatch")) + stagedUpdates
	s := newStore(t, text, "prod/p1", "prod/p2", "prod/p3")
	s.roll(8)
	require.True(t, s.holds("Succeeded"), s.last.Message)
	s.source, s.bad["p2@2"] = "2", true
	s.roll(40)
	s.check(map[string]string{"p1": "2", "p2": "1", "p3": "1"})
	require.NotContains(t, s.seen["p3"], "2", "it never had the bad one")
}

// A first installation that fails is withdrawn where the transport saw that nothing was there, and
// nowhere else.
func TestRollbackOfAFirstInstallation(t *testing.T) {
	text := policyText(stageText("dev", "dev"), stageText("prod", "prod", "progressDeadlineSeconds: 30", "onFailure: Rollback")) + stagedUpdates
	s := newStore(t, text, "dev/d", "prod/p1", "prod/p2")
	s.foreign["p2"], s.have["p2"], s.reported["p2"] = true, "0", "0"
	s.bad["p1@1"] = true
	s.roll(40)
	s.check(map[string]string{"d": "1", "p2": "1"})
	require.Equal(t, v1alpha1.RolledBack, stageStatus(s.status, "prod").Phase, s.last.Message)
	require.Equal(t, []string{"1"}, s.seen["p2"], "it keeps what it got: there is nothing known to go back to")
}

// A1 for KubeStellar, which holds one revision: nothing is removed, the cluster keeps what it has,
// and goes back as soon as the source holds the old revision again.
func TestRollbackNeededWithOneRevision(t *testing.T) {
	text := policyText(stageText("dev", "dev"), stageText("prod", "prod", "progressDeadlineSeconds: 30", "onFailure: Rollback")) + keep
	u := newUpdated(t, text, "dev/d", "prod/p")
	u.roll(10)
	require.True(t, u.holds("Succeeded"), u.last.Message)
	u.available["p"] = 0
	u.release("2")
	u.roll(40)
	require.Equal(t, v1alpha1.RollbackNeeded, u.phase("prod"), u.last.Message)
	require.Contains(t, u.last.Message, "p keeps r2-2 until the source holds r1-1 again")
	u.checkAll(map[string]string{"d": "2", "p": "2"})
	require.True(t, u.policies["s.stage.prod"].Spec.Downsync[0].CreateOnly, "it is held")
	require.Equal(t, []string{"s.stage.dev", "s.stage.prod"}, u.exist())
	u.available["p"], u.available["d"] = 1, 0
	u.release("1")
	u.roll(4)
	require.Equal(t, "1", u.have["p"], "before dev is satisfied, and apart from all stages")
	require.Equal(t, "dev", u.status.ActiveStage)
	require.Contains(t, u.status.Wanted, "1")
	u.available["d"] = 1
	u.roll(12)
	u.checkAll(map[string]string{"d": "1", "p": "1"})
	require.True(t, u.holds("Succeeded"), u.last.Message)
	require.Len(t, u.status.Revisions, 2, "the old text is the same revision")
}

// A cluster that cannot go back, since nothing of its revision is kept, is told apart from one that can.
func TestRollbackNeededNamesTheClustersThatNeedTheSource(t *testing.T) {
	s := newStore(t, policyText(stageText("prod", "prod", "progressDeadlineSeconds: 30", "onFailure: Rollback"))+stagedUpdates, "prod/p1", "prod/p2")
	s.kept = []fleet.RevisionID{idOf("1"), idOf("2")}
	s.roll(8)
	require.True(t, s.holds("Succeeded"), s.last.Message)
	good := s.record("p1")
	good.LastGood = string(idOf("0")) // a revision from before the policy
	s.status.Cohorts = []v1alpha1.Cohort{{ClusterRecord: s.record("p1"), Clusters: []string{"p1"}}, {ClusterRecord: good, Clusters: []string{"p2"}}}
	s.source, s.bad["p1@2"] = "2", true
	for stageStatus(s.status, "prod").Phase != v1alpha1.RollbackNeeded {
		s.roll(1)
	}
	require.Contains(t, s.last.Message, "waits for p1 to go back to r1-1; p2 keeps r2-2 until the source holds 0 again")
	s.roll(4)
	require.Contains(t, s.last.Message, "p2 keeps r2-2 until the source holds 0 again")
	require.NotContains(t, s.last.Message, "p1 to go back")
	s.check(map[string]string{"p1": "1", "p2": "2"})
}

// A2: a version that is pushed during the turn of another. The status of the old one does not count.
func TestANewRevisionInTheTurnOfAnother(t *testing.T) {
	u := newUpdated(t, policyText(stageText("dev", "dev"), stageText("prod", "prod"))+keep, "dev/d", "prod/p")
	u.roll(10)
	require.True(t, u.holds("Succeeded"), u.last.Message)
	u.offline = map[string]bool{"d": true} // the transport needs its time
	u.release("2")
	u.roll(15)
	require.Equal(t, "dev", u.status.ActiveStage)
	require.Contains(t, u.last.Message, "r2-2 is not delivered to d (it has r1-1)")
	require.False(t, u.policies["s.stage.dev"].Spec.Downsync[0].CreateOnly, "dev is open until it has it")
	u.checkAll(map[string]string{"d": "1", "p": "1"})
	u.offline, u.mute = nil, map[string]bool{"d": true} // delivered, and the last report is of version 1
	u.roll(5)
	u.checkAll(map[string]string{"d": "2", "p": "1"})
	require.Contains(t, u.last.Message, "no status of the bound workload from d")
	u.mute = nil
	u.roll(10)
	u.checkAll(map[string]string{"d": "2", "p": "2"})
	require.True(t, u.holds("Succeeded"), u.last.Message)
}

// A3: a cluster that is offline is waited for by name, or set aside by name, and gets the revision when
// it is back.
func TestAnOfflineClusterIsNamed(t *testing.T) {
	for field, passes := range map[string]bool{"soak: 0s": false, "maxSilent: 1": true, "deliveryDeadlineSeconds: 20\n    maxFailures: 1": true} {
		text := policyText(stageText("dev", "dev", "condition: num('sum') >= 1", "guards: {allowErrors: true}", field), stageText("prod", "prod")) + stagedUpdates
		s := newStore(t, text, "dev/d1", "dev/d2", "prod/p")
		s.roll(8)
		require.True(t, s.holds("Succeeded"), s.last.Message)
		s.offline["d2"], s.source = true, "2"
		s.roll(30)
		require.Equal(t, passes, s.have["p"] == "2", "%s: %s", field, s.last.Message)
		if passes {
			require.Contains(t, s.last.Message, "except in d2 (r1-1)", field)
		} else {
			require.Contains(t, s.last.Message, "r2-2 is not delivered to d2 (it has r1-1)")
		}
		delete(s.offline, "d2")
		s.roll(8)
		require.Equal(t, map[string]string{"d1": "2", "d2": "2", "p": "2"}, s.have)
		require.NotContains(t, s.last.Message, "except")
	}
}

// Explain says for each stage which evidence the policy requires and which the transport gives. A transport that gives
// less is refused.
func TestExplainSaysTheEvidence(t *testing.T) {
	text := policyText(stageText("dev", "dev"), stageText("prod", "prod", "requireEvidence: Exact"), stageText("end", "end", "requireEvidence: None")) + stagedUpdates
	s := newStore(t, text, "dev/d", "prod/p", "end/e")
	s.roll(2)
	for best, refused := range map[fleet.Evidence]bool{fleet.EvidenceOrdered: true, fleet.EvidenceExact: false} {
		w := s.world()
		w.Can.Best = best
		var lines []string
		for _, l := range s.policy.Explain(s.status, w) {
			lines = append(lines, l.String())
		}
		for stage, asked := range map[string]string{"dev": "Ordered", "prod": "Exact", "end": "None"} {
			require.Contains(t, lines, fmt.Sprintf("ok: stage %q: evidence: %s is asked for, the transport gives %s", stage, asked, best))
		}
		require.Equal(t, refused, strings.Contains(strings.Join(lines, "\n"), `updates: Staged asks for evidence Exact in stage "prod", and the transport gives Ordered: nothing is changed`), lines)
	}
}

// A6: a rollout that was rolled back stays so, whatever is edited, until somebody asks for a retry by
// the name of the revision.
func TestAFailureIsSticky(t *testing.T) {
	text := func(lines ...string) string {
		return policyText(stageText("dev", "dev"), stageText("prod", "prod", append([]string{"progressDeadlineSeconds: 30", "onFailure: Rollback"}, lines...)...)) + stagedUpdates
	}
	s := newStore(t, text(), "dev/d", "prod/p")
	s.roll(8)
	s.source, s.bad["p@2"] = "2", true
	s.roll(40)
	want := s.status.Cohorts
	for _, edit := range []string{text() + "  paused: true\n", text(), text("soak: 1h"), text("windows: [{cron: '0 0 * * *', duration: 24h}]"), text()} {
		s.policy = compile(t, edit)
		s.meta.Generation++
		s.roll(4)
		require.Equal(t, v1alpha1.RolledBack, stageStatus(s.status, "prod").Phase)
		require.Equal(t, want, s.status.Cohorts)
		s.check(map[string]string{"d": "2", "p": "1"})
	}
	s.bad = map[string]bool{}
	s.meta.Annotations = map[string]string{v1alpha1.RetryPrefix + "prod": "r1-1"}
	s.roll(4)
	s.check(map[string]string{"d": "2", "p": "1"})
	s.meta.Annotations = map[string]string{v1alpha1.RetryPrefix + "prod": "r2-2"}
	s.roll(6)
	s.check(map[string]string{"d": "2", "p": "2"})
	require.EqualValues(t, 2, stageStatus(s.status, "prod").Attempt)
	require.True(t, s.holds("Succeeded"), s.last.Message)
}

// A17: the old text again is the old revision. Clusters that still have it need nothing.
func TestTheOldTextIsTheOldRevision(t *testing.T) {
	s := newStore(t, policyText(stageText("dev", "dev"), stageText("prod", "prod"))+stagedUpdates, "dev/d", "prod/p")
	s.roll(8)
	s.source, s.bad["d@2"] = "2", true
	s.roll(5)
	s.check(map[string]string{"d": "2", "p": "1"})
	s.source = "1"
	s.roll(8)
	s.check(map[string]string{"d": "1", "p": "1"})
	require.True(t, s.holds("Succeeded"), s.last.Message)
	require.Equal(t, []string{"1"}, s.seen["p"])
	require.Len(t, s.status.Revisions, 2)
	require.Equal(t, "sha256:1", s.status.Wanted)
}

func stageStatus(s v1alpha1.Status, name string) v1alpha1.StageStatus {
	for _, rec := range s.Stages {
		if rec.Name == name {
			return rec
		}
	}
	return v1alpha1.StageStatus{}
}

// At evidence None a report may be of any revision, but not of one that the cluster does not have yet.
func TestAReportOfBeforeTheDeliveryFailsNothing(t *testing.T) {
	text := policyText(stageText("prod", "prod", "requireEvidence: None", "failureCondition: num('sum') == 0")) + stagedUpdates
	s := newStore(t, text, "prod/p")
	s.unnamed = true
	s.roll(8)
	require.True(t, s.holds("Succeeded"), s.last.Message)
	s.bad["p@1"], s.offline["p"], s.source = true, true, "2"
	s.roll(4)
	require.Equal(t, v1alpha1.Progressing, stageStatus(s.status, "prod").Phase, s.last.Message)
	require.Contains(t, s.last.Message, "r2-2 is not delivered to p")
	s.offline["p"] = false
	s.roll(4)
	require.True(t, s.holds("Succeeded"), s.last.Message)
}

// A cluster that is set aside was no part of what its stage is fulfilled with: the revision is not its last
// good one.
func TestAClusterThatIsSetAsideIsNotKnownToBeGood(t *testing.T) {
	text := policyText(stageText("prod", "prod", "perCluster: {maxUnavailable: 2, progressDeadlineSeconds: 30}", "maxFailures: 1")) + stagedUpdates
	s := newStore(t, text, "prod/p1", "prod/p2")
	s.bad["p2@1"] = true
	s.roll(30)
	require.True(t, s.holds("Succeeded"), s.last.Message)
	require.Equal(t, string(idOf("1")), s.record("p1").LastGood)
	require.Equal(t, string(idOf("1")), s.record("p2").Applied)
	require.Empty(t, s.record("p2").LastGood)
	require.Empty(t, s.record("p2").Health)
}

// A stage that fails as soon as it begins, by a cluster that has the revision from an earlier stage, gives it to
// no other cluster.
func TestAFailedStageGivesNothingMore(t *testing.T) {
	first := "  - {name: first, clusterSelectors: [{matchLabels: {name: p1}}], condition: num('sum') == 1, failureCondition: num('sum') == 0, onFailure: Continue}\n"
	text := policyText(first, stageText("prod", "prod", "failureCondition: num('sum') < 2", "onFailure: Rollback")) + stagedUpdates
	s := newStore(t, text, "prod/p1", "prod/p2")
	s.foreign["p2"], s.have["p2"], s.reported["p2"] = true, "0", "0"
	s.bad["p1@1"] = true
	s.roll(20)
	require.Equal(t, v1alpha1.RolledBack, stageStatus(s.status, "prod").Phase, s.last.Message)
	s.check(map[string]string{"p2": "0"})
	require.Empty(t, s.seen["p2"])
}

// A cluster that went back, and is in another stage now, gets the revision with that stage once the failed one was
// tried again.
func TestAClusterThatWentBackAndMovedTakesItsTurn(t *testing.T) {
	text := policyText(stageText("prod", "prod", "progressDeadlineSeconds: 30", "onFailure: Rollback"), stageText("end", "end")) + stagedUpdates
	s := newStore(t, text, "prod/p1", "prod/p2", "end/e")
	s.roll(10)
	require.True(t, s.holds("Succeeded"), s.last.Message)
	s.source, s.bad["p1@2"] = "2", true
	s.roll(30)
	s.check(map[string]string{"p1": "1", "p2": "1", "e": "1"})
	delete(s.bad, "p1@2")
	s.clusters["p1"] = map[string]string{"env": "end", "name": "p1"}
	s.roll(2)
	s.meta.Annotations = map[string]string{v1alpha1.RetryPrefix + "prod": s.status.Wanted}
	s.roll(20)
	require.True(t, s.holds("Succeeded"), s.last.Message)
	s.check(map[string]string{"p1": "2", "p2": "2", "e": "2"})
}

// No stage begins behind one that was rolled back: not one that is inserted there, and not the stage that has
// failed, when only that is tried again.
func TestNoStageBeginsBehindOneThatWasRolledBack(t *testing.T) {
	first, last := stageText("first", "prod"), stageText("last", "end", "progressDeadlineSeconds: 30", "onFailure: RollbackAll")
	s := newStore(t, policyText(first, last)+stagedUpdates, "prod/p", "mid/m", "end/e")
	s.roll(10)
	require.True(t, s.holds("Succeeded"), s.last.Message)
	s.source, s.bad["e@2"] = "2", true
	s.roll(30)
	s.check(map[string]string{"p": "1", "e": "1"})
	require.Equal(t, v1alpha1.RolledBack, stageStatus(s.status, "first").Phase, s.last.Message)

	s.policy = compile(t, policyText(first, stageText("mid", "mid"), last)+stagedUpdates)
	s.roll(20)
	require.Equal(t, v1alpha1.Pending, stageStatus(s.status, "mid").Phase, s.last.Message)
	s.meta.Annotations = map[string]string{v1alpha1.RetryPrefix + "last": s.status.Wanted}
	s.roll(20)
	s.check(map[string]string{"p": "1", "e": "1"})
	require.Contains(t, s.last.Message, `stage "first" was rolled back`)

	delete(s.bad, "e@2")
	s.meta.Annotations[v1alpha1.RetryPrefix+"first"] = s.status.Wanted
	s.roll(20)
	require.True(t, s.holds("Succeeded"), s.last.Message)
	s.check(map[string]string{"p": "2", "m": "2", "e": "2"})
}
