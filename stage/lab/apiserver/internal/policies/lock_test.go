package policies

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/rules"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

const both = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec: {matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps]}]}, validations: [{expression: "true"}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: p}
spec: {policyName: p, validationActions: [Deny]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: p}
spec: {reinvocationPolicy: Never, matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps]}]},
  mutations: [{patchType: JSONPatch, jsonPatch: {expression: "[]"}}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: p}
spec: {policyName: p}
`

// TestPoliciesAreCompiledWithoutTheLock: what a write calls with the lock of the cluster does not
// compile. The compiler of this test panics.
func TestPoliciesAreCompiledWithoutTheLock(t *testing.T) {
	c := memory.New(memory.Options{})
	require.NoError(t, c.Load(t.Context(), []byte(both)))
	x, compiled := New(c, &rules.Compiler{}, nil, nil), 0
	c.Extend(memory.Hooks{Name: "policies", Remote: func(v *memory.Review) func() error {
		validate, mutate := x.ask(v), x.Mutate(v) // with the lock
		if v.Kind.Kind != "ConfigMap" {
			return nil
		}
		return func() error {
			require.Panics(t, func() { _ = validate() })
			require.Panics(t, func() { _ = mutate(context.Background(), nil, nil) })
			compiled++
			return nil
		}
	}})
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "namespace": "default"}}}
	_, err := c.Create(t.Context(), u, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, 1, compiled)
}
