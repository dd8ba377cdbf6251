package nodes_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/kube/nodes"
	"github.com/stagecraft-go/stagecraft/stage/player"
)

var (
	nodeKind  = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	podKind   = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	leaseKind = schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}
)

type texts = map[string]string

func node(name string, labels, annotations texts) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(nodeKind)
	obj.SetName(name)
	obj.SetLabels(labels)
	obj.SetAnnotations(annotations)
	return obj
}

func TestPolicy(t *testing.T) {
	bare, fake := node("bare", nil, nil), node("fake", texts{"type": "fake"}, texts{"kwok.x-k8s.io/node": "fake"})
	custom := node("custom", texts{"type": "fake"}, texts{"kwok.x-k8s.io/node": "fake", "status": "custom"})
	cases := []struct {
		name   string
		policy nodes.Policy
		want   []bool // of bare, fake, custom
	}{
		{"all", nodes.Policy{}, []bool{true, true, true}},
		{"by name", nodes.Policy{Names: []string{"bare", "custom"}}, []bool{true, false, true}},
		{"by label", nodes.Policy{Labels: "type=fake"}, []bool{false, true, true}},
		{"by a set of labels", nodes.Policy{Labels: "type notin (real),type"}, []bool{false, true, true}},
		{"by annotation", nodes.Policy{Annotations: "kwok.x-k8s.io/node=fake"}, []bool{false, true, true}},
		{"by both", nodes.Policy{Labels: "type=fake", Annotations: "!status"}, []bool{false, true, false}},
		{"disregarded by annotation", nodes.Policy{Disregard: nodes.Disregard{Annotations: "status=custom"}}, []bool{true, true, false}},
		{"disregarded by label", nodes.Policy{Disregard: nodes.Disregard{Labels: "type"}}, []bool{true, false, false}},
		{"disregarded by name too", nodes.Policy{Names: []string{"custom"}, Disregard: nodes.Disregard{Labels: "type"}}, []bool{false, false, false}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			rules, err := c.policy.Compile()
			require.NoError(t, err)
			require.Equal(t, c.want, []bool{rules.Manages(bare), rules.Manages(fake), rules.Manages(custom)})
		})
	}
}

func TestDisregard(t *testing.T) {
	bare, managed := node("a", nil, nil), node("b", texts{"managed": "true"}, texts{"by": "us"})
	cases := []struct {
		name      string
		disregard nodes.Disregard
		want      []bool // of bare, managed
	}{
		{"nothing", nodes.Disregard{}, []bool{false, false}},
		{"by label", nodes.Disregard{Labels: "managed=true"}, []bool{false, true}},
		{"by annotation", nodes.Disregard{Annotations: "by in (us, them)"}, []bool{false, true}},
		{"by either", nodes.Disregard{Labels: "managed=false", Annotations: "by"}, []bool{false, true}},
		{"what has no label", nodes.Disregard{Labels: "!managed"}, []bool{true, false}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			rules, err := nodes.Policy{Disregard: c.disregard}.Compile()
			require.NoError(t, err)
			require.Equal(t, c.want, []bool{rules.Disregards(bare), rules.Disregards(managed)})
		})
	}
}

func TestPoliciesAreRefusedWithAllFaults(t *testing.T) {
	_, err := nodes.Policy{Names: []string{"a"}, Labels: "a==", Annotations: "in (", Disregard: nodes.Disregard{Labels: "=", Annotations: "a b"}}.Compile()
	for _, want := range []string{`Policy.Names ["a"]: not together with selectors`, `Policy.Annotations "in ("`, `Policy.Disregard.Labels "="`, `Policy.Disregard.Annotations "a b"`} {
		require.ErrorContains(t, err, want)
	}
	_, err = nodes.Policy{Names: []string{"a", ""}}.Compile()
	require.ErrorContains(t, err, "without a name")
	_, err = nodes.New(nil, nodes.Options{Policy: nodes.Policy{Labels: "="}, Lease: nodes.Lease{Duration: 1, Parallel: -1}})
	for _, want := range []string{"Policy.Labels", "Lease.Duration 1ns: must be whole seconds", "Lease.Parallel -1"} {
		require.ErrorContains(t, err, want)
	}
}

func TestSelect(t *testing.T) {
	cases := []struct {
		name        string
		policy      nodes.Policy
		nodes, pods player.Selection
	}{
		{"all", nodes.Policy{}, player.Selection{}, player.Selection{Fields: "spec.nodeName!="}},
		{"by label", nodes.Policy{Labels: "type=fake"}, player.Selection{Labels: "type=fake"}, player.Selection{Fields: "spec.nodeName!="}},
		{"one", nodes.Policy{Names: []string{"a"}}, player.Selection{Fields: "metadata.name=a"}, player.Selection{Fields: "spec.nodeName=a"}},
		{"two", nodes.Policy{Names: []string{"a", "b"}}, player.Selection{}, player.Selection{Fields: "spec.nodeName!="}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			rules, err := c.policy.Compile()
			require.NoError(t, err)
			require.Equal(t, map[schema.GroupVersionKind]player.Selection{nodeKind: c.nodes, podKind: c.pods}, rules.Select())
		})
	}
}
