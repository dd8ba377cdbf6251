package ownership_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/internal/ownership"
)

func parse(t *testing.T, manifest string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(manifest), &obj.Object))
	return obj
}

func TestQueries(t *testing.T) {
	for _, c := range []struct{ name, manifest, kinds, selector string }{
		{"a Deployment has ReplicaSets, and these Pods", `{apiVersion: apps/v1, kind: Deployment,
  spec: {selector: {matchLabels: {b: c, a: b}}}}`, "ReplicaSet Pod ", "a=b,b=c"},
		{"any version will do", "{apiVersion: apps/v1beta1, kind: StatefulSet, spec: {selector: {matchExpressions: [{key: a, operator: Exists}]}}}", "Pod ", "a"},
		{"a selector that matches everything narrows nothing", "{apiVersion: apps/v1, kind: ReplicaSet, spec: {selector: {}}}", "", ""},
		{"a selector that is none", "{apiVersion: apps/v1, kind: ReplicaSet, spec: {selector: {matchLabels: [a]}}}", "", ""},
		{"a claim that names no class", "{apiVersion: v1, kind: PersistentVolumeClaim}", "", ""},
		{"other kinds", "{apiVersion: v1, kind: Pod}", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			kinds := ""
			for _, query := range ownership.Queries(parse(t, c.manifest)) {
				kinds += query.Kind.Kind + " "
				require.Equal(t, c.selector, query.ListOptions().LabelSelector)
			}
			require.Equal(t, c.kinds, kinds)
		})
	}
	require.Equal(t, "metadata.name=a", ownership.Query{Name: "a"}.ListOptions().FieldSelector)
	require.Equal(t, `metadata.name=a\,b\=c`, ownership.Query{Name: "a,b=c"}.ListOptions().FieldSelector) // roles may have such names
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name, manifest string
		want           ownership.References
	}{
		{"the controller owns", "{metadata: {uid: a, ownerReferences: [{uid: b}, {uid: c, controller: true}]}}", ownership.References{UID: "a", Owner: "c"}},
		{"the only owner owns", "{metadata: {uid: a, ownerReferences: [{uid: b}]}}", ownership.References{UID: "a", Owner: "b"}},
		{"one of several owners does not", "{metadata: {uid: a, ownerReferences: [{uid: b}, {uid: c}]}}", ownership.References{UID: "a"}},
		{"what is no reference is none", "{metadata: {uid: a, ownerReferences: [b]}}", ownership.References{UID: "a"}},
		{
			"a Pod has the revision of its StatefulSet",
			"{kind: Pod, metadata: {labels: {controller-revision-hash: x}, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, uid: s}]}}",
			ownership.References{Owner: "s", Revision: "x"},
		},
		{"a StatefulSet wants its update revision", `{apiVersion: apps/v1, kind: StatefulSet,
  status: {updateRevision: x}}`, ownership.References{CurrentRevision: "x"}},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, ownership.Read(parse(t, c.manifest))) })
	}
}

func TestCurrentRevision(t *testing.T) {
	for _, c := range []struct {
		name, wants    string
		revisions, are []string
	}{
		{"the revision that is wanted", "b", []string{"a", "b", "", "b"}, []string{"b", "b"}},
		{"nothing, if there is none of it", "c", []string{"a", ""}, nil},
		{"the greatest number, not the last text", "", []string{"9", "10", "x", ""}, []string{"10"}},
		{"all, without numbers", "", []string{"x", ""}, []string{"x", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			current := ownership.CurrentRevision(c.wants, slices.Values(c.revisions))
			var are []string
			for _, revision := range c.revisions {
				if current(revision) {
					are = append(are, revision)
				}
			}
			require.Equal(t, c.are, are)
		})
	}
}

func TestDependsOnChildren(t *testing.T) {
	require.True(t, ownership.DependsOnChildren(schema.GroupKind{Group: "apps", Kind: "Deployment"}))
	require.False(t, ownership.DependsOnChildren(schema.GroupKind{Kind: "Service"}))
}
