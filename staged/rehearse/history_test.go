package rehearse_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/staged/rehearse"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

const twice = `
changes:
- {after: 2m, apply: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2}}}
- {after: 3m, apply: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}}
`

// The second version is taken back while it soaks in dev: prod never saw it.
func TestProdNeverSawTheSecondVersion(t *testing.T) {
	in := policy(t, "    condition: num('sum') >= 1\n    soak: 10m")
	in.Policy.Spec.Updates, in.Policy.Spec.Retention = v1alpha1.Staged, v1alpha1.Keep
	in.Policy.Spec.Stages[1].Condition = "num('sum') >= 1"
	for _, c := range in.Clusters {
		c.Labels["name"] = c.Name
	}
	script(t, &in, strings.ReplaceAll(twice, "after: ", "after: 1h"))
	timeline := run(t, in)
	require.True(t, timeline.Succeeded, timeline.String())
	text := timeline.String()
	require.Regexp(t, `cluster dev1: from r1-[0-9a-f]{12} to r2-[0-9a-f]{12}\n`, text)
	require.Regexp(t, `cluster dev1: from r2-[0-9a-f]{12} to r1-[0-9a-f]{12}\n`, text)
	require.Regexp(t, `\ncluster dev1 had (r1-\w{12}), r2-\w{12}, r1-\w{12}\ncluster prod1 had r1-\w{12}; never r2-\w{12}\n`, text)
	require.Len(t, timeline.Clusters[1].Never, 1)
	require.Empty(t, run(t, policy(t, "    condition: num('sum') == 1")).Clusters, "there was one revision only")
}

// A second policy for the same workload in the same clusters is played too: it places nothing, and both
// say so.
func TestAnotherPolicyForTheSameWorkload(t *testing.T) {
	in := policy(t, "    condition: num('sum') == 1\n    soak: 1m")
	other := in.Policy
	other.Name = "other"
	other.Spec.Stages = []v1alpha1.Stage{in.Policy.Spec.Stages[0]}
	in.Others = []v1alpha1.StagedBindingPolicy{other}
	timeline := run(t, in)
	require.True(t, timeline.Succeeded, timeline.String())
	require.Contains(t, timeline.String(), "+1m6s      policy other: BindingPolicy other.stage.dev: created", "the first has left dev")
	in.Policy.Spec.Retention = v1alpha1.Keep
	timeline = run(t, in)
	require.True(t, timeline.Succeeded, timeline.String())
	require.Contains(t, timeline.String(), "lint: policy other has not succeeded: stage \"dev\" is not started: BindingPolicy s.stage.dev places the same objects in dev1")
	require.NotContains(t, timeline.String(), "BindingPolicy other.stage.dev")
	script(t, &in, "changes: [{after: 30s, policy: other, edit: {spec: {paused: true}}}]")
	require.Contains(t, run(t, in).String(), "+30s       policy other: the policy is edited")
}

// Three players, each with its own delay, do together what one does.
func TestScriptWithThreePlayers(t *testing.T) {
	in := policy(t, "    condition: num('sum') == 1\n    soak: 10s")
	alone := run(t, in)
	script(t, &in, "{lags: [2s, 7s]}")
	timeline := run(t, in)
	require.True(t, timeline.Succeeded)
	require.Contains(t, timeline.String(), "the player that is 2s late")
	require.Equal(t, 1, strings.Count(timeline.String(), "BindingPolicy s.stage.prod: created"))
	require.Equal(t, alone.Message, timeline.Message)
}

// A policy that takes away what clusters had before it came is pointed at, and so is one that lets a
// rollback do that.
func TestLintOfLosses(t *testing.T) {
	const want = "lint: it removes a workload that was there before: cluster dev1 loses deployments.apps shop/web at "
	in := policy(t, "    condition: num('sum') == 1")
	require.NotContains(t, run(t, in).String(), want, "retention Move, as in the document")
	in.Clusters[0].Had, in.Clusters[1].Had = true, true
	require.Contains(t, run(t, in).String(), want)
	in.Policy.Spec.Retention = v1alpha1.Keep
	require.NotContains(t, run(t, in).String(), want)
	in.Policy.Spec.Stages[1].WithdrawFirst = true
	require.Contains(t, run(t, in).String(), "lint: stage prod: withdrawFirst says that its clusters have nothing before: a rollback would remove a workload that was there before from prod1")
}

// With staged updates a workload whose templates are expanded for each cluster is pointed at.
func TestLintOfTemplates(t *testing.T) {
	in := policy(t, "    condition: num('sum') == 1")
	in.Objects[0].SetAnnotations(map[string]string{"control.kubestellar.io/expand-templates": "true"})
	const want = "lint: Deployment web: its templates are expanded for each cluster"
	require.NotContains(t, run(t, in).String(), want)
	in.Policy.Spec.Updates, in.Policy.Spec.Retention = v1alpha1.Staged, v1alpha1.Keep
	for _, c := range in.Clusters {
		c.Labels["name"] = c.Name
	}
	require.Contains(t, run(t, in).String(), want)
}

// A change that comes too late for the rehearsal is named.
func TestAChangeAfterTheEnd(t *testing.T) {
	in := policy(t, "    condition: num('sum') == 1")
	in.Longest = time.Hour
	script(t, &in, "changes: [{after: 2h, join: {name: far}}, {after: 3h, policy: gone, leave: dev1}]")
	_, err := rehearse.Run(t.Context(), in)
	require.ErrorContains(t, err, "Input.Script.Changes[0].After: the join of far after 2h0m0s comes after the end of the rehearsal: Input.Longest is 1h0m0s")
	require.ErrorContains(t, err, "Input.Script.Changes[1].After: the leave of dev1 after 3h0m0s")
	require.ErrorContains(t, err, `Input.Script.Changes[1].Policy: no policy has the name "gone"`)
}
