package kubestellar_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
)

var deployment = map[string]any{
	"apiVersion": "apps/v1", "kind": "Deployment",
	"metadata": map[string]any{"name": "web", "namespace": "shop", "uid": "u1"},
	"spec":     map[string]any{"replicas": int64(2)},
}

// input has one collector, x, and the status of each cluster; null for one that has not reported.
func input(t testing.TB, collector, statuses string) kubestellar.Input {
	t.Helper()
	var spec control.StatusCollectorSpec
	require.NoError(t, yaml.Unmarshal([]byte(collector), &spec))
	c, err := kubestellar.Compile(spec)
	require.NoError(t, err)
	var reports map[string]map[string]any
	raw, err := yaml.YAMLToJSON([]byte(statuses))
	require.NoError(t, err)
	require.NoError(t, utiljson.Unmarshal(raw, &reports))
	in := kubestellar.Input{
		Binding:  &control.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p", OwnerReferences: []metav1.OwnerReference{{UID: "p1"}}}},
		Object:   &unstructured.Unstructured{Object: deployment},
		Resource: "deployments", Collectors: map[string]*kubestellar.Collector{"x": c}, Reports: map[string]kubestellar.Report{},
	}
	in.Binding.Spec.Workload.NamespaceScope = []control.DownsyncClause{{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop",
		Name: "web", DownsyncModulation: control.DownsyncModulation{StatusCollectors: []string{"x"}}}}
	for cluster, status := range reports {
		in.Binding.Spec.Destinations = append(in.Binding.Spec.Destinations, control.Destination{ClusterID: cluster})
		if status != nil {
			in.Reports[cluster] = kubestellar.Report{Status: status, LastUpdate: time.Unix(1e9, 0)}
		}
	}
	return in
}

// result is the only table, without its name, as JSON.
func result(t testing.TB, mode kubestellar.Mode, in kubestellar.Input) string {
	t.Helper()
	status, ok := kubestellar.Combine(mode, in)
	require.True(t, ok)
	require.Len(t, status.Results, 1)
	r := status.Results[0]
	for i := range r.RowErrors {
		r.RowErrors[i].Error = ""
	}
	text, err := json.Marshal(struct {
		Rows   []control.StatusCombinationRow `json:"rows"`
		Errors []control.RowError             `json:"errors,omitempty"`
	}{r.Rows, r.RowErrors})
	require.NoError(t, err)
	return string(text)
}

func TestStrict(t *testing.T) {
	text, err := os.ReadFile("testdata/strict.yaml")
	require.NoError(t, err)
	var cases []struct {
		Name                                  string
		Collector, Statuses, Upstream, Strict json.RawMessage
	}
	require.NoError(t, yaml.UnmarshalStrict(text, &cases))
	require.Len(t, cases, 7)
	for _, tc := range cases {
		t.Run(tc.Name, func(t *testing.T) {
			in := input(t, string(tc.Collector), string(tc.Statuses))
			require.JSONEq(t, string(tc.Upstream), result(t, kubestellar.Upstream, in))
			require.JSONEq(t, string(tc.Strict), result(t, kubestellar.Strict, in))
		})
	}
}

func TestCombinedStatusIsNamedAfterObjectAndPolicy(t *testing.T) {
	in := input(t, `{combinedFields: [{name: n, type: COUNT}], limit: 1}`, `{a: {}}`)
	status, ok := kubestellar.Combine(kubestellar.Upstream, in)
	require.True(t, ok)
	require.Equal(t, "u1.p1", status.Name)
	require.Equal(t, "shop", status.Namespace)
	require.Equal(t, "p", status.Labels["status.kubestellar.io/binding-policy"])
	in.Binding.Spec.Workload.NamespaceScope[0].StatusCollectors = nil
	_, ok = kubestellar.Combine(kubestellar.Upstream, in)
	require.False(t, ok, "an object without collectors has no CombinedStatus")
}

func TestExpressionsThatCostTooMuchAreErrors(t *testing.T) {
	for name, def := range map[string]string{
		"nested loops": "returned.status.l.all(a, returned.status.l.all(b, returned.status.l.all(c, returned.status.l.all(d, a + b + c + d >= 0))))",
		"doubled text": "['x'].map(a, a+a).map(a, a+a).map(a, a+a)" + repeat(".map(a, a+a+a+a)", 20),
		"doubled list": "[[1]].map(a, a+a)" + repeat(".map(a, [a, a, a, a])", 20),
	} {
		t.Run(name, func(t *testing.T) {
			def, err := json.Marshal(def)
			require.NoError(t, err)
			list, err := json.Marshal(make([]int, 100))
			require.NoError(t, err)
			in := input(t, `{select: [{name: v, def: `+string(def)+`}], limit: 9}`, `{a: {l: `+string(list)+`}}`)
			require.Contains(t, result(t, kubestellar.Strict, in), `"columnName":"v"`)
		})
	}
}

func repeat(s string, n int) (all string) {
	for range n {
		all += s
	}
	return all
}

func TestFaultsOfACollectorHavePathAndPosition(t *testing.T) {
	filter, subject := "true &&\n  x", "returned.status.a"
	_, err := kubestellar.Compile(control.StatusCollectorSpec{
		Filter:         &filter,
		GroupBy:        []control.NamedExpression{{Name: "a", Def: "1"}, {Name: "b", Def: "1 +"}},
		CombinedFields: []control.NamedAggregator{{Name: "n", Type: "COUNT", Subject: &subject}},
	})
	var faults kubestellar.Errors
	require.ErrorAs(t, err, &faults)
	var places []string
	for _, f := range faults {
		places = append(places, fmt.Sprintf("%s:%d:%d", f.Path, f.Line, f.Column))
	}
	require.Equal(t, []string{"spec.filter:2:3", "spec.groupBy[1].def:1:4", "spec.combinedFields[0].subject:0:0"}, places)
	require.ErrorContains(t, err, "groupBy expression (b) invalid: failed to parse expression: ", "as KubeStellar says it")
}

func TestResolve(t *testing.T) {
	labelled := func(resource, namespace, name string) kubestellar.Object {
		return kubestellar.Object{
			Group: "apps", Version: "v1", Resource: resource, Namespace: namespace, Name: name,
			Labels: map[string]string{"app": "web"}, ResourceVersion: "7",
		}
	}
	policy := &control.BindingPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p1"}, Spec: control.BindingPolicySpec{
		ClusterSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"env": "dev"}}, {MatchLabels: map[string]string{"name": "c0"}}},
		Downsync:         []control.DownsyncPolicyClause{{ObjectSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"app": "web"}}}}},
	}}
	inventory := kubestellar.Inventory{
		Objects: []kubestellar.Object{
			labelled("deployments", "b", "y"), labelled("deployments", "a", "z"), labelled("events", "a", "e"),
			{Resource: "pods", Name: "other"}, labelled("things", "", "t"),
		},
		Clusters: map[string]map[string]string{
			"c2": {"env": "dev"}, "c1": {"env": "dev"}, "c0": {"name": "c0"}, "prod": {"env": "prod"},
		},
	}
	b, err := kubestellar.Resolve(policy, inventory)
	require.NoError(t, err)
	require.Equal(t, []control.Destination{{ClusterID: "c0"}, {ClusterID: "c1"}, {ClusterID: "c2"}}, b.Spec.Destinations)
	require.Equal(t, "a", b.Spec.Workload.NamespaceScope[0].Namespace)
	require.Len(t, b.Spec.Workload.NamespaceScope, 2)
	require.Len(t, b.Spec.Workload.ClusterScope, 1)
	require.EqualValues(t, "p1", b.OwnerReferences[0].UID)

	policy.Spec.ClusterSelectors[0].MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Gt"}}
	_, err = kubestellar.Resolve(policy, inventory)
	require.ErrorContains(t, err, "clusterSelectors[0]")
}

func FuzzCombine(f *testing.F) {
	f.Add(`returned.status.v > 0`, `returned.status.v`, `{"a": {"v": 1}, "b": null}`)
	f.Add(`null`, `[returned.status]`, `{"a": {"v": [null, {"x": 1e400}]}}`)
	f.Add(`true`, `{"a": 1, 2: b"x"}`, `{}`)
	f.Fuzz(func(t *testing.T, filter, expression, statuses string) {
		var reports map[string]map[string]any
		if utiljson.Unmarshal([]byte(statuses), &reports) != nil {
			return
		}
		in := input(t, `{limit: 3}`, `{}`)
		for _, spec := range []control.StatusCollectorSpec{
			{Filter: &filter, Select: []control.NamedExpression{{Name: "v", Def: expression}}},
			{Filter: &filter, GroupBy: []control.NamedExpression{{Name: "g", Def: expression}}, CombinedFields: []control.NamedAggregator{{Name: "m", Type: "AVG", Subject: &expression}}},
		} {
			c, err := kubestellar.Compile(spec)
			if err != nil {
				continue
			}
			in.Collectors["x"] = c
			for cluster, status := range reports {
				in.Binding.Spec.Destinations = append(in.Binding.Spec.Destinations, control.Destination{ClusterID: cluster})
				in.Reports[cluster] = kubestellar.Report{Status: status}
			}
			for _, mode := range []kubestellar.Mode{kubestellar.Upstream, kubestellar.Strict} {
				first, _ := kubestellar.Combine(mode, in)
				second, _ := kubestellar.Combine(mode, in)
				_, err := json.Marshal(first)
				require.NoError(t, err)
				require.Equal(t, first, second)
			}
		}
	})
}
