package validation_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/defaults"
	"github.com/stagecraft-go/stagecraft/stage/lab/validation"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

const (
	podText = `{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: a}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: u, controller: true}]},
  spec: {containers: [{name: a, image: i, ports: [{containerPort: 80}], resources: {requests: {cpu: 100m}}}]}}`
	deploymentText = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 1}, spec: {selector: {matchLabels: {a: b}},
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: i}]}}}}`
)

// reviewOf returns the review of the write of an object with its defaults.
func reviewOf(t testing.TB, text, resource, group string) *memory.Review {
	obj := object(t, text)
	v := &memory.Review{Resource: schema.GroupResource{Group: group, Resource: resource}, New: obj}
	v.Name, v.Kind = types.NamespacedName{Namespace: "default", Name: "a"}, obj.GroupVersionKind()
	c := memory.New(memory.Options{})
	c.Extend(defaults.Hooks())
	stored, err := c.Create(t.Context(), obj, metav1.CreateOptions{})
	require.NoError(t, err)
	v.New = stored.DeepCopy()
	return v
}

// changed is the review of an update that changes one field of the spec.
func changed(v *memory.Review, field string, value any) *memory.Review {
	next := *v
	next.Old = v.New
	next.New = &unstructured.Unstructured{Object: v.New.DeepCopy().Object}
	next.New.Object["spec"].(map[string]any)[field] = value
	return &next
}

// BenchmarkCheck measures writes of valid objects.
func BenchmarkCheck(b *testing.B) {
	pod, deployment := reviewOf(b, podText, "pods", ""), reviewOf(b, deploymentText, "deployments", "apps")
	for name, v := range map[string]*memory.Review{
		"pod": pod, "deployment": deployment, "bound pod": changed(pod, "nodeName", "n"), "scaled deployment": changed(deployment, "replicas", int64(3)),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, validation.Check(v))
			}
		})
	}
}
