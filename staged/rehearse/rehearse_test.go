package rehearse_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/rehearse"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
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

func TestExplanationsSayWhatIsAwaited(t *testing.T) {
	in := policy(t, "    condition: num('sum') == 1")
	in.Explain = true
	require.Contains(t, run(t, in).String(), `waiting: stage "dev": deployments.apps shop/web: num("sum") is 0, want 1`)
}

func TestFaultsOfTheInputAreReportedTogether(t *testing.T) {
	in := policy(t, "    condition: num('sum') == 1")
	in.Policy.Spec.Stages = append(in.Policy.Spec.Stages, v1alpha1.Stage{Name: "dev"})
	in.Policy.Spec.Downsync[0].StatusCollectors = []string{"agg", "other"}
	subject := "obj."
	in.Collectors = append(in.Collectors, in.Collectors[0], control.StatusCollector{Spec: control.StatusCollectorSpec{
		CombinedFields: []control.NamedAggregator{{Name: "sum", Type: "SUM", Subject: &subject}}}})
	in.Objects = append(in.Objects, nil, in.Objects[0], object("v1", "", "x"), object("", "Job", "x"), object("batch/v1", "Job", "X"),
		&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": func() {}}})
	in.Clusters = append(in.Clusters, in.Clusters[0], rehearse.Cluster{Latency: -1, Script: []rehearse.Status{{After: -1}, {Status: map[string]any{"x": func() {}}}}})
	in.Approvals = map[string]time.Duration{"after.dev": -1, "before.prd": 0, "prod": 0}
	in.Latency, in.Longest = -time.Second, -time.Second
	_, err := rehearse.Run(t.Context(), in)
	for _, want := range []string{
		`policy "s": spec.stages[2].name: stage 0 has this name too`,
		`Input.Collectors[1].Name: number 0 has the name "agg" too`,
		`Input.Collectors[2].Name: missing`,
		`Input.Collectors[2].Spec: StatusCollector "": combinedField expression (sum) invalid: `,
		`Input.Policy.Spec.Downsync[0].StatusCollectors[1]: "other" is not in Input.Collectors`,
		`Input.Objects[1]: nil`,
		`Input.Objects[2]: deployments.apps "web" already exists`,
		`Input.Objects[3]: kind: missing`,
		`Input.Objects[4]: apiVersion: missing`,
		`Input.Objects[5]: Job.batch "X" is invalid: metadata.name: `,
		`Input.Objects[6]: json: unsupported type: func()`,
		`Input.Clusters[2].Name: number 0 has the name "dev1" too`,
		`Input.Clusters[3].Name: missing`,
		`Input.Clusters[3].Latency: want at least 0s, got -1ns`,
		`Input.Clusters[3].Script[0].After: want at least 0s, got -1ns`,
		`Input.Clusters[3].Script[1].Status: json: unsupported type: func()`,
		`Input.Latency: want at least 0s, got -1s`,
		`Input.Approvals["after.dev"]: want at least 0s, got -1ns`,
		`Input.Approvals["before.prd"]: want before. or after. and the name of a stage`,
		`Input.Approvals["prod"]: want before. or after. and the name of a stage`,
		`Input.Longest: want at least 0s, got -1s`,
	} {
		require.ErrorContains(t, err, want)
	}
	var faults rehearse.Errors
	require.ErrorAs(t, err, &faults)
	require.Len(t, faults, 20)
	var invalid staged.Errors
	require.ErrorAs(t, err, &invalid)
	_, err = rehearse.Run(t.Context(), rehearse.Input{})
	require.ErrorContains(t, err, "Input.Clusters: want at least one cluster")
}

func object(apiVersion, kind, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name, "labels": map[string]any{"app": "web"}}}}
	for field, value := range map[string]string{"apiVersion": apiVersion, "kind": kind} {
		if value != "" {
			obj.Object[field] = value
		}
	}
	return obj
}

// TestReportsOfOtherClustersDoNotCount: the cluster of the stage before still has the object and
// reports it, that of this stage is silent.
func TestReportsOfOtherClustersDoNotCount(t *testing.T) {
	in := policy(t, `    condition: num('sum') == 1
  - name: middle
    clusterSelectors: [{matchLabels: {env: mid}}]
    condition: reported >= 1
    guards: {allowStale: true, allowErrors: true}`)
	silent := member("mid1", "mid", 0)
	silent.Silent = true
	in.Clusters = append(in.Clusters, silent)
	timeline := run(t, in)
	require.Contains(t, timeline.String(), "stage dev: satisfied")
	require.NotContains(t, timeline.String(), "stage middle: satisfied")
}

// TestBatches plays a stage with maxConcurrency, whose batches select clusters by a label with
// their names.
func TestBatches(t *testing.T) {
	in := policy(t, "    condition: num('sum') == 1")
	one := intstr.FromInt32(1)
	in.Policy.Spec.Stages[1].MaxConcurrency, in.Policy.Spec.Stages[1].Condition = &one, "num('sum') == 1"
	in.Clusters = append(in.Clusters, member("prod2", "prod", 2*time.Second))
	timeline := run(t, in)
	require.False(t, timeline.Succeeded)
	require.Contains(t, timeline.String(), "cluster prod1 has no label name=prod1")
	for i, c := range in.Clusters {
		in.Clusters[i].Labels = map[string]string{"env": c.Labels["env"], "site": c.Name}
	}
	in.Compile.ClusterLabel = "site"
	timeline = run(t, in)
	require.True(t, timeline.Succeeded, timeline)
	for _, want := range []string{
		"+6s        BindingPolicy s.stage.prod.1: created\n", "+6s        cluster prod1: deployments.apps shop/web arrives\n",
		"+7s        BindingPolicy s.stage.prod.2: created\n", "+7s        cluster prod2: deployments.apps shop/web arrives\n",
	} {
		require.Contains(t, timeline.String(), want)
	}
}
