package staged_test

import (
	"cmp"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// An updated world delivers the workload to clusters as KubeStellar does: a new version reaches a
// cluster unless createOnly is set there.
type updated struct {
	*world
	version  string
	have     map[string]string // the version in each cluster
	reported map[string]string // the version in its last report
	mute     map[string]bool   // clusters that report nothing new
	offline  map[string]bool   // clusters that nothing is delivered to
}

// idOf is the revision of a version.
func idOf(version string) fleet.RevisionID { return fleet.RevisionID("sha256:" + version) }

// content shows what a player with access to the space of the transport sees.
func (u *updated) content(seen *bindingpolicy.Observation) {
	ref := fleet.ObjectRef{Group: "apps", Resource: "deployments", Namespace: "shop", Name: "web"}
	clause := control.DownsyncClause{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop", Name: "web", ResourceVersion: u.version}
	clause.StatusCollectors = []string{"agg"}
	seen.Workload = &fleet.Workload{Revision: idOf(u.version), Objects: []*fleet.Object{{Clause: clause}}}
	seen.Collectors = u.collectors
	for _, c := range slices.Sorted(maps.Keys(u.have)) {
		report := fleet.Report{Object: ref, Revision: idOf(u.reported[c]), Evidence: fleet.EvidenceOrdered, Status: map[string]any{"availableReplicas": u.available[c]}}
		seen.Delivered = append(seen.Delivered, fleet.Cluster{Name: c, Applied: idOf(u.have[c]), Reports: []fleet.Report{report}})
	}
}

func newUpdated(t *testing.T, text string, clusters ...string) *updated {
	u := &updated{world: fleetOf(t, text+"  updates: Staged\n", clusters...), version: "1", have: map[string]string{}, reported: map[string]string{}}
	u.extend = u.content
	u.deliver()
	return u
}

// release makes a new version of the workload on the hub.
func (u *updated) release(version string) {
	u.version = version
	u.objects = slices.Clone(u.objects)
	u.objects[0].ResourceVersion = version
	u.deliver()
}

func (u *updated) deliver() {
	next := map[string]string{}
	for _, p := range u.policies {
		found, err := kubestellar.Destinations(p.Spec.ClusterSelectors, u.clusters)
		require.NoError(u.t, err)
		for _, d := range found {
			c := d.ClusterID
			if old := u.have[c]; old != "" && (p.Spec.Downsync[0].CreateOnly || u.offline[c]) {
				next[c] = cmp.Or(next[c], old)
				continue
			}
			next[c] = u.version
		}
	}
	u.have = next
	for c, version := range u.have {
		if !u.mute[c] {
			u.reported[c] = version
		}
	}
}

// roll decides and delivers for a while.
func (u *updated) roll(times int) {
	for range times {
		u.decide()
		u.deliver()
		u.sleep(2 * time.Second)
	}
}

func (u *updated) checkAll(want map[string]string) {
	u.t.Helper()
	require.Equal(u.t, want, u.have, u.last.Message)
}

func TestUpdatesAreRolledOutStageByStage(t *testing.T) {
	text := policyText(stageText("dev", "dev"), stageText("prod", "prod", "approval: {before: true}")) + keep
	u := newUpdated(t, text, "dev/d", "prod/p1", "prod/p2")
	u.approve("before.prod")
	u.roll(8)
	require.True(t, u.holds("Succeeded"), u.last.Message)
	u.checkAll(map[string]string{"d": "1", "p1": "1", "p2": "1"})

	u.available["d"] = 0
	u.release("2")
	u.roll(6)
	require.Equal(t, "dev", u.status.ActiveStage)
	u.checkAll(map[string]string{"d": "2", "p1": "1", "p2": "1"})
	u.available["d"] = 1
	u.roll(6)
	u.checkAll(map[string]string{"d": "2", "p1": "1", "p2": "1"})
	require.Contains(t, u.last.Message, "which is not this one")
	u.approveAs("before.prod", "bob")
	u.roll(8)
	u.checkAll(map[string]string{"d": "2", "p1": "2", "p2": "2"})
	require.True(t, u.holds("Succeeded"), u.last.Message)
	u.release("3")
	require.Equal(t, map[string]string{"d": "2", "p1": "2", "p2": "2"}, u.have, "at rest, nothing is updated at once")
}

// A new version may come before anybody has seen the Bindings that delivered the old one.
func TestUpdatesOfClustersWhoseBindingWasNeverSeen(t *testing.T) {
	u := newUpdated(t, policyText(stageText("dev", "dev"), stageText("prod", "prod"))+keep, "dev/d", "prod/p")
	u.roll(12)
	u.checkAll(map[string]string{"d": "1", "p": "1"})
	u.status.Wanted, u.status.Cohorts, u.status.Revisions = "", nil, nil
	u.release("2")
	u.roll(12)
	u.checkAll(map[string]string{"d": "2", "p": "2"})
	require.True(t, u.holds("Succeeded"), u.last.Message)
}

func TestUpdatesAreRolledOutBatchByBatch(t *testing.T) {
	for _, field := range []string{"maxConcurrency: 1", "perCluster: {maxUnavailable: 1}"} {
		u := newUpdated(t, policyText(stageText("prod", "prod", field)), "prod/p1", "prod/p2", "prod/p3")
		u.roll(12)
		require.True(t, u.holds("Succeeded"), u.last.Message)
		u.available["p2"] = 0
		u.release("2")
		u.roll(12)
		u.checkAll(map[string]string{"p1": "2", "p2": "2", "p3": "1"})
		u.available["p2"] = 1
		u.roll(12)
		u.checkAll(map[string]string{"p1": "2", "p2": "2", "p3": "2"})
		require.True(t, u.holds("Succeeded"), u.last.Message)
	}
}

func TestUpdatesUnderMoveLeaveTheLastStageAlone(t *testing.T) {
	u := newUpdated(t, policyText(stageText("dev", "dev"), stageText("prod", "prod")), "dev/d", "prod/p")
	u.roll(8)
	u.checkAll(map[string]string{"p": "1"})
	u.available["d"] = 0
	u.release("2")
	u.roll(6)
	u.checkAll(map[string]string{"d": "2", "p": "1"})
	u.release("3")
	u.roll(6)
	require.Equal(t, "1", u.have["p"], "a newer version begins again")
	u.available["d"] = 1
	u.roll(10)
	u.checkAll(map[string]string{"p": "3"})
}

// Under Move, a new version comes while the workload goes from one stage to the next, and the first stage cannot
// start yet: a stage that has to be passed again keeps its clusters until their turn.
func TestUpdatesUnderMoveTakeNothingFromStagesWhoseTurnComesAgain(t *testing.T) {
	text := func(paused string) string {
		return policyText(stageText("dev", "dev", "paused: "+paused), stageText("mid", "mid"), stageText("prod", "prod"))
	}
	u := newUpdated(t, text("false"), "dev/d", "mid/m", "prod/p")
	for range 10 {
		if u.roll(1); u.status.ActiveStage == "prod" {
			break
		}
	}
	u.release("2")
	u.edit(text("true") + "  updates: Staged\n")
	u.roll(6)
	require.NotEmpty(t, u.have["m"], u.last.Message)
	u.available["d"] = 0
	u.edit(text("false") + "  updates: Staged\n")
	u.roll(6)
	require.Equal(t, "dev", u.status.ActiveStage)
	require.NotEmpty(t, u.have["m"], u.last.Message)
	u.available["d"] = 1
	u.roll(12)
	u.checkAll(map[string]string{"p": "2"})
	require.True(t, u.holds("Succeeded"), u.last.Message)
}

func TestWithoutUpdatesAllIsAsBefore(t *testing.T) {
	w := fleetOf(t, policyText(stageText("dev", "dev"), stageText("prod", "prod"))+keep, "dev/d", "prod/p")
	w.settle()
	w.objects[0].ResourceVersion = "2"
	w.settle()
	require.True(t, w.holds("Succeeded"))
	for _, p := range w.policies {
		require.False(t, p.Spec.Downsync[0].CreateOnly)
	}
}

func TestStagedUpdatesRefuseWhatWouldUndoThem(t *testing.T) {
	for clause, want := range map[string]string{
		"createOnly: true":                 "it is set until the turn of a cluster comes",
		"wantSingletonReportedState: true": "no status can be returned into the objects",
	} {
		text := `apiVersion: community.kubestellar.io/v1alpha1
kind: StagedBindingPolicy
metadata: {name: s}
spec:
  updates: Staged
  downsync: [{resources: [deployments], ` + clause + `}]
  stages: [{name: dev, clusterSelectors: [{}]}]
`
		_, err := staged.Compile(staged.Options{}, staged.Parse("p.yaml", []byte(text)))
		require.ErrorContains(t, err, want)
	}
}

// With Pause a failed update deletes nothing, and the old version of the workload, applied again,
// reaches the clusters of the failed stage.
func TestAFailedUpdateKeepsTheWorkloadAndGoesBackByTheSource(t *testing.T) {
	u := newUpdated(t, policyText(stageText("dev", "dev"), stageText("prod", "prod", "progressDeadlineSeconds: 60", "onFailure: Pause"))+keep, "dev/d", "prod/p")
	u.roll(12)
	require.True(t, u.holds("Succeeded"), u.last.Message)
	u.available["p"] = 0
	u.release("2")
	u.roll(12)
	u.sleep(time.Hour)
	u.roll(12)
	require.Equal(t, v1alpha1.Failed, stageStatus(u.status, "prod").Phase, u.last.Message)
	u.checkAll(map[string]string{"d": "2", "p": "2"})
	u.available["p"] = 1
	u.release("1 again")
	u.roll(12)
	u.checkAll(map[string]string{"d": "1 again", "p": "1 again"})
	require.True(t, u.holds("Succeeded"), u.last.Message)
}

// A version that comes while prod is being updated begins with dev. Prod was observed with the version
// of its turn, so it is held there until its turn comes again, also under Move.
func TestUpdatesOfStagesWhoseTurnComesAgainWait(t *testing.T) {
	u := newUpdated(t, policyText(stageText("dev", "dev"), stageText("prod", "prod")), "dev/d", "prod/p")
	u.roll(8)
	u.checkAll(map[string]string{"p": "1"})
	u.available["p"] = 0
	u.release("2")
	u.roll(8)
	require.Equal(t, "prod", u.status.ActiveStage)
	u.available["d"] = 0
	u.release("3")
	u.checkAll(map[string]string{"p": "2"})
	u.roll(4)
	require.Equal(t, "dev", u.status.ActiveStage)
	u.release("4")
	u.roll(4)
	u.checkAll(map[string]string{"d": "4", "p": "2"})
	u.available["d"], u.available["p"] = 1, 1
	u.roll(8)
	u.checkAll(map[string]string{"p": "4"})
	require.True(t, u.holds("Succeeded"), u.last.Message)
}

// Which version the clusters have is lost with the status: all stages are passed again.
func TestUpdatesAfterALossOfTheStatus(t *testing.T) {
	u := newUpdated(t, policyText(stageText("dev", "dev"), stageText("prod", "prod"))+keep, "dev/d", "prod/p")
	u.roll(8)
	u.checkAll(map[string]string{"d": "1", "p": "1"})
	u.release("2")
	u.status = v1alpha1.Status{}
	u.sleep(time.Minute)
	u.available["d"] = 0
	u.roll(8)
	require.Equal(t, "dev", u.status.ActiveStage)
	u.checkAll(map[string]string{"d": "2", "p": "1"})
	u.available["d"] = 1
	u.roll(8)
	u.checkAll(map[string]string{"d": "2", "p": "2"})
	require.True(t, u.holds("Succeeded"), u.last.Message)
}

// A version that comes together with an edit that gives a stage other BindingPolicies is noticed.
func TestUpdatesAreNoticedByANewBindingPolicy(t *testing.T) {
	u := newUpdated(t, policyText(stageText("dev", "dev", "perCluster: {}")), "dev/d1", "dev/d2")
	u.roll(12)
	require.True(t, u.holds("Succeeded"), u.last.Message)
	u.edit(policyText(stageText("dev", "dev")) + "  updates: Staged\n")
	u.decide()
	u.release("2")
	u.roll(12)
	u.checkAll(map[string]string{"d1": "2", "d2": "2"})
}

// While the rollout is stalled because its active stage is not in the spec, no version gets through.
func TestUpdatesWaitWhileTheActiveStageIsNotInTheSpec(t *testing.T) {
	u := newUpdated(t, policyText(stageText("dev", "dev"), stageText("prod", "prod"))+keep, "dev/d", "prod/p")
	u.available["p"] = 0
	u.roll(8)
	u.edit(policyText(stageText("dev", "dev"), stageText("live", "prod")) + keep + "  updates: Staged\n")
	u.decide()
	u.release("2")
	u.roll(8)
	u.checkAll(map[string]string{"d": "1", "p": "1"})
}

// A cluster that joins a stage before the turn of the stage receives nothing until then.
func TestClustersThatJoinBeforeTheTurnOfTheirStage(t *testing.T) {
	for field, want := range map[string]string{"soak: 0s": "", "perCluster: {maxUnavailable: 1}": "", "maxConcurrency: 1": ""} {
		u := newUpdated(t, policyText(stageText("dev", "dev"), stageText("prod", "prod", field))+keep, "dev/d", "prod/p1")
		u.roll(12)
		u.available["d"] = 0
		u.release("2")
		u.roll(4)
		u.join("prod/p2")
		u.roll(4)
		require.Equal(t, want, u.have["p2"], field)
		require.Equal(t, "1", u.have["p1"], field)
		u.available["d"] = 1
		u.roll(12)
		u.checkAll(map[string]string{"d": "2", "p1": "2", "p2": "2"})
		require.True(t, u.holds("Succeeded"), u.last.Message)
	}
}

// After a loss of the status all stages are passed again. No stage waits for a new status of clusters
// that have the newest version already, because there will be none.
func TestUpdatesWaitForNoStatusOfClustersThatHaveTheNewVersion(t *testing.T) {
	u := newUpdated(t, policyText(stageText("dev", "dev"), stageText("prod", "prod"))+keep, "dev/d", "prod/p")
	u.roll(8)
	u.status = v1alpha1.Status{}
	u.sleep(time.Minute)
	u.roll(12)
	require.True(t, u.holds("Succeeded"), u.last.Message)

	u.available["d"] = 0
	u.release("2")
	u.roll(5)
	require.Equal(t, "dev", u.status.ActiveStage)
	u.available["d"] = 1
	u.release("3")
	u.sleep(time.Hour) // the cluster has reported long before the next decision
	u.roll(12)
	u.checkAll(map[string]string{"d": "3", "p": "3"})
	require.True(t, u.holds("Succeeded"), u.last.Message)
}

// An edit makes batches of clusters whose turn had come one by one, and not ended: the first have not
// passed because a later one has begun.
func TestUpdatesOfClustersThatBecomeBatchesInTheirTurn(t *testing.T) {
	stages := func(field string) string { return policyText(stageText("prod", "prod", field)) + keep }
	u := newUpdated(t, stages("perCluster: {maxUnavailable: 2}"), "prod/p1", "prod/p2", "prod/p3")
	u.roll(12)
	u.checkAll(map[string]string{"p1": "1", "p2": "1", "p3": "1"})
	u.release("2")
	u.decide()
	u.decide()
	u.edit(stages("maxConcurrency: 1") + "  updates: Staged\n")
	u.roll(12)
	u.checkAll(map[string]string{"p1": "2", "p2": "2", "p3": "2"})
	require.True(t, u.holds("Succeeded"), u.last.Message)
}

// A Binding that is still that of the clusters a batch had says nothing of its clusters now.
func TestUpdatesWaitForTheBindingOfTheClustersOfTheirBatch(t *testing.T) {
	for _, field := range []string{"perCluster: {maxUnavailable: 1}", "maxConcurrency: 1"} {
		u := newUpdated(t, policyText(stageText("dev", "dev", field), stageText("prod", "prod"))+keep, "dev/d1", "prod/p1")
		u.available["d1"] = 0
		u.roll(3)
		u.release("2")
		delete(u.clusters, "d1")
		u.join("dev/d2")
		before := u.observe()
		u.decide()
		require.Equal(t, "dev", u.status.ActiveStage)
		require.Equal(t, []string{"d2"}, u.status.Stages[0].Batches[0].Clusters)

		seen := u.observe()
		seen.Bindings, seen.Statuses, seen.Reports = before.Bindings, before.Statuses, before.Reports
		for n, b := range seen.Bindings {
			seen.Bindings[n].Spec.Destinations = []control.Destination{{ClusterID: "d1"}}
			require.Equal(t, "s.stage.dev.1", b.Name)
		}
		for _, s := range seen.Statuses {
			s.Results[0].Rows[0].Columns[0].Number = new("1")
		}
		d := bindingpolicy.Decide(u.policy, u.status, seen, u.now)
		require.Equal(t, "dev", d.Status.ActiveStage, field)
		require.Contains(t, d.Message, "the Binding s.stage.dev.1 has no destination d2 yet")
		u.roll(12)
		require.True(t, u.holds("Succeeded"), u.last.Message)
		u.checkAll(map[string]string{"d2": "2", "p1": "2"})
	}
}
