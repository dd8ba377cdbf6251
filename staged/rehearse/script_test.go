package rehearse_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/staged/rehearse"
)

func script(t *testing.T, in *rehearse.Input, text string) {
	t.Helper()
	var err error
	in.Script, err = rehearse.ParseScript([]byte(text))
	require.NoError(t, err)
}

func TestScript(t *testing.T) {
	in := policy(t, "    condition: num('sum') == size(destinations)\n    soak: 1m")
	script(t, &in, `
changes:
- {after: 20s, join: {name: dev2, labels: {env: dev}}}
- {after: 40s, leave: dev2}
- {after: 50s, edit: {spec: {paused: true}}}
- {after: 5m, edit: {spec: {paused: null}}}
- {after: 6m, loseStatus: true}
- {after: 7m, join: {name: prod2, labels: {env: prod}}}
- {after: 8m, apply: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2}}}
`)
	text := run(t, in).String()
	for _, want := range []string{
		"+20s       cluster dev2: joins",
		"+20s       stage dev: satisfied no longer",
		"+40s       cluster dev2: leaves",
		"+40s       stage dev: satisfied",
		"+50s       the policy is edited",
		"+5m0s      StageStarted: stage \"prod\"",
		"+6m0s      the status is lost",
		"+6m0s      StatusLost: there was no status: going on from stage \"prod\"",
		"+7m0s      cluster prod2: deployments.apps shop/web arrives",
		"+8m0s      deployments.apps shop/web is changed on the hub",
	} {
		require.Contains(t, text, want+"")
	}
	require.Equal(t, 1, strings.Count(text, "cluster prod1: deployments.apps shop/web arrives"), "the lost status takes nothing away")
	require.NotContains(t, text, "cluster prod1: deployments.apps shop/web is gone")
}

// The second player sees everything two seconds late. It decides where it is not behind, and
// otherwise its write is refused: prod never loses the workload.
func TestScriptWithTwoPlayers(t *testing.T) {
	in := policy(t, "    condition: num('sum') == 1\n    soak: 10s\n    approval: {after: true}")
	script(t, &in, "{lag: 2s, changes: [{after: 10s, approve: after.dev, by: anna}]}")
	timeline := run(t, in)
	require.True(t, timeline.Succeeded)
	text := timeline.String()
	require.Contains(t, text, "its write is refused")
	require.Equal(t, 1, strings.Count(text, "BindingPolicy s.stage.prod: created"))
	require.NotContains(t, text, "cluster prod1: deployments.apps shop/web is gone")
	require.Less(t, len(timeline.Entries), 40)
}

// A gate is an object of the hub. The Job of last year opens nothing, and neither does one that has not succeeded.
func TestScriptWithAGate(t *testing.T) {
	in := policy(t, "    condition: num('sum') == 1\n"+
		"    gates: [{name: tests, apiVersion: batch/v1, kind: Job, namespace: shop, objectName: check, condition: object.status.succeeded == 1}]")
	require.False(t, run(t, in).Succeeded)
	job := func(after, made, succeeded string) string {
		return "- {after: " + after + ", gate: {apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: check" + made + "}, status: {succeeded: " + succeeded + "}}}\n"
	}
	for _, lag := range []string{"", "lag: 2s\n"} {
		script(t, &in, lag+"changes:\n"+job("1m", ", creationTimestamp: '1999-01-01T00:00:00Z'", "1")+job("3m", "", "0")+job("5m", "", "1"))
		timeline := run(t, in)
		require.True(t, timeline.Succeeded, timeline.String())
		require.Contains(t, timeline.String(), "+1m0s      Job shop/check is on the hub")
		require.Contains(t, timeline.String(), "+5m0s      StageStarted: stage \"prod\"")
	}
	script(t, &in, "changes: [{after: 1m, gate: {apiVersion: batch/v1, kind: Job, metadata: {name: other}}}]")
	_, err := rehearse.Run(t.Context(), in)
	require.ErrorContains(t, err, "change after 1m0s: no stage names Job other as a gate")
}

func TestScriptRefuses(t *testing.T) {
	_, err := rehearse.ParseScript([]byte("changes: [{at: 1s}]"))
	require.ErrorContains(t, err, `unknown field "at"`)
	for text, want := range map[string]string{
		"changes: [{after: 1s}]":                "want one of edit, join, leave",
		"changes: [{after: 1s, leave: nobody}]": "there is no cluster nobody",
		"changes: [{after: 1s, apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}]": "ConfigMap x is not in the workload",
		"changes: [{after: 1s, edit: {spec: {stages: []}}}]":                                    "want at least one stage",
	} {
		in := policy(t, "    condition: num('sum') == 1")
		script(t, &in, text)
		_, err := rehearse.Run(t.Context(), in)
		require.ErrorContains(t, err, want)
	}
}

func TestLintsOfSelectors(t *testing.T) {
	in := policy(t, "    condition: num('sum') == 1\n    onFailure: Rollback")
	in.Clusters[1].Labels["env"] = "prod"
	in.Clusters = append(in.Clusters, member("far", "edge", 0), member("near", "edge", 0))
	in.Policy.Spec.Stages[1].ClusterSelectors = append(in.Policy.Spec.Stages[1].ClusterSelectors, in.Policy.Spec.Stages[0].ClusterSelectors...)
	text := run(t, in).String()
	require.Contains(t, text, "lint: stages dev, prod overlap: all of them select dev1\n")
	require.Contains(t, text, "lint: no stage selects far, near\n")
	require.Contains(t, text, "lint: spec.stages[0].onFailure: Rollback in the first stage is Pause")
}

func TestLintsOfFailureConditions(t *testing.T) {
	for fields, want := range map[string]string{
		"failureCondition: num('faild') > 0": "lint: stage dev: failureCondition cannot be evaluated, so that the stage is never left: deployments.apps shop/web in dev1: failureCondition: no collector has a column faild",
		"failureCondition: num('sum') == 1":  "lint: stage dev: failureCondition is true for deployments.apps shop/web in dev1: saw agg: sum = 1",
	} {
		in := policy(t, "    condition: num('sum') == 1\n    "+fields)
		in.Longest = time.Hour
		require.Contains(t, strings.ReplaceAll(run(t, in).String(), `num("faild")`, "num('faild')"), want)
	}
}
