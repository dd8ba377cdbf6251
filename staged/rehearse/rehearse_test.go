package rehearse_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/rehearse"
)

// policy is dev, then prod, with more fields of dev.
func policy(t testing.TB, fields string) rehearse.Input {
	t.Helper()
	s := staged.Parse("policy.yaml", []byte(`apiVersion: community.kubestellar.io/v1alpha1
kind: StagedBindingPolicy
metadata: {name: s}
spec:
  downsync: [{statusCollectors: [agg], objectSelectors: [{matchLabels: {app: web}}]}]
  stages:
  - name: dev
    clusterSelectors: [{matchLabels: {env: dev}}]
`+fields+`
  - name: prod
    clusterSelectors: [{matchLabels: {env: prod}}]
`))
	_, err := staged.Compile(staged.Options{}, s)
	require.NoError(t, err)
	subject := "returned.status.availableReplicas"
	agg := control.StatusCollector{Spec: control.StatusCollectorSpec{CombinedFields: []control.NamedAggregator{{Name: "sum", Type: "SUM", Subject: &subject}}}}
	agg.Name = "agg"
	return rehearse.Input{
		Policy: s.Policies()[0], Collectors: []control.StatusCollector{agg}, Latency: time.Second,
		Objects: []*unstructured.Unstructured{{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"name": "web", "namespace": "shop", "labels": map[string]any{"app": "web"}}}}},
		Clusters: []rehearse.Cluster{member("dev1", "dev", 5*time.Second), member("prod1", "prod", 0)},
	}
}

// member is a cluster in which the workload is available some time after it came.
func member(name, env string, after time.Duration) rehearse.Cluster {
	return rehearse.Cluster{Name: name, Labels: map[string]string{"env": env}, Script: []rehearse.Status{
		{After: 0, Status: map[string]any{"availableReplicas": 0}},
		{After: after, Status: map[string]any{"availableReplicas": 1}},
	}}
}

func run(t testing.TB, in rehearse.Input) *rehearse.Timeline {
	t.Helper()
	timeline, err := rehearse.Run(t.Context(), in)
	require.NoError(t, err)
	again, err := rehearse.Run(t.Context(), in)
	require.NoError(t, err)
	require.Equal(t, timeline.String(), again.String(), "the same again")
	return timeline
}

func TestWorkloadMovesWhenItIsAvailable(t *testing.T) {
	timeline := run(t, policy(t, "    condition: num('sum') == 1"))
	require.True(t, timeline.Succeeded)
	require.Empty(t, timeline.Lints)
	require.Contains(t, timeline.String(), "+6s        stage dev: satisfied", "five seconds in the cluster, one on the way")
	require.Contains(t, timeline.String(), "+6s        cluster prod1: deployments.apps shop/web arrives")
	require.Contains(t, timeline.String(), "+6s        cluster dev1: deployments.apps shop/web is gone")
	require.Contains(t, timeline.Mermaid(), "s.stage.dev : 0, 6")
}

func TestSoakAndApprovalsTakeTheirTime(t *testing.T) {
	in := policy(t, "    condition: num('sum') == 1\n    soak: 10m\n    approval: {after: true}")
	in.Approvals = map[string]time.Duration{"after.dev": time.Hour}
	timeline := run(t, in)
	require.True(t, timeline.Succeeded)
	require.Contains(t, timeline.String(), `+1h0m0s    StageStarted: stage "prod"`)
}

func TestLints(t *testing.T) {
	two := func(in *rehearse.Input) { in.Clusters = append(in.Clusters, member("dev2", "dev", 9*time.Second)) }
	for _, tc := range []struct {
		name, fields string
		change       func(*rehearse.Input)
		want         string // "" is no lint
	}{
		{"a condition that fits has none", "    condition: num('sum') == 2", two, ""},
		{"a condition that is true in passing", "    condition: num('sum') == 1", two, "lint: stage dev: the condition is true only in passing, from +6s to +10s"},
		{"a stage without clusters", "    condition: num('sum') == 1", func(in *rehearse.Input) { in.Clusters = in.Clusters[1:] }, "lint: stage dev: its selectors match no cluster"},
		{"a condition that says nothing", "    condition: 'true'", nil, "lint: stage dev: the condition is true before any cluster has reported, so it says nothing"},
		{"a condition that is never true", "    condition: num('sum') == 5", nil, "lint: stuck: nothing that happens in this rehearsal lets it go on"},
		{"a cluster that is silent, which allowStale lets pass", "    condition: cell('agg', 'sum') == 1\n    guards: {allowStale: true, allowErrors: true}", func(in *rehearse.Input) {
			two(in)
			in.Clusters[2].Silent = true
		}, "lint: stage dev: it is satisfied at +6s although not every cluster has reported"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := policy(t, tc.fields)
			if tc.change != nil {
				tc.change(&in)
			}
			timeline := run(t, in)
			if tc.want == "" {
				require.Empty(t, timeline.Lints)
				return
			}
			require.Contains(t, timeline.String(), tc.want)
		})
	}
}

func TestExplanationsSayWhatIsAwaited(t *testing.T) {
	in := policy(t, "    condition: num('sum') == 1")
	in.Explain = true
	require.Contains(t, run(t, in).String(), `waiting: stage "dev": deployments.apps shop/web: num("sum") is 0, want 1`)
}

func TestFaultsOfTheInputAreErrors(t *testing.T) {
	in := policy(t, "")
	in.Collectors[0].Spec.Select = []control.NamedExpression{{Name: "x", Def: "obj."}}
	_, err := rehearse.Run(t.Context(), in)
	require.ErrorContains(t, err, "StatusCollector agg")
	in.Policy.Spec.Stages = nil
	_, err = rehearse.Run(t.Context(), in)
	require.ErrorContains(t, err, "want at least one stage")
	require.Equal(t, 1, strings.Count(err.Error(), "\n")+1)
}

// TestReportsOfOtherClustersDoNotCount: the cluster of the stage before still has the object and reports it, that of this stage is silent.
func TestReportsOfOtherClustersDoNotCount(t *testing.T) {
	in := policy(t, "    condition: num('sum') == 1\n  - name: middle\n    clusterSelectors: [{matchLabels: {env: mid}}]\n    condition: reported >= 1\n    guards: {allowStale: true, allowErrors: true}")
	silent := member("mid1", "mid", 0)
	silent.Silent = true
	in.Clusters = append(in.Clusters, silent)
	timeline := run(t, in)
	require.Contains(t, timeline.String(), "stage dev: satisfied")
	require.NotContains(t, timeline.String(), "stage middle: satisfied")
}
