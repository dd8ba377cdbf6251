package stage_test

import (
	"testing"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
)

const usesFunctions = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: bill}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .spec.replicas | twice, operator: In, values: ['6']}
    - cel: {expression: isOdd(self.spec.replicas)}
  weightFrom: {expressionFrom: .spec.replicas | twice}
  delay:
    durationFrom: {cel: {expression: "isOdd(self.spec.replicas) ? duration('7s') : duration('1s')"}}
  next: {delete: true}
`

func TestOptionsGiveExpressionsFunctions(t *testing.T) {
	source := stage.Parse("bill.yaml", []byte(usesFunctions))
	_, err := stage.Compile(stage.Options{}, source)
	require.ErrorContains(t, err, "function not defined: twice/0")
	require.ErrorContains(t, err, "undeclared reference to 'isOdd'")

	set, err := stage.Compile(stage.Options{
		JQFunctions: map[string]func(any, []any) any{"twice/0": func(n any, _ []any) any { return 2 * n.(int) }},
		CELOptions: []cel.EnvOption{cel.Function("isOdd", cel.Overload("isOdd_int", []*cel.Type{cel.IntType}, cel.BoolType,
			cel.UnaryBinding(func(n ref.Val) ref.Val { return types.Bool(n.(types.Int)%2 == 1) })))},
	}, source)
	require.NoError(t, err)
	pod := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "web"}, "spec": map[string]any{"replicas": int64(3)},
	}}
	candidates := set.Candidates(pod, time.Time{})
	require.Len(t, candidates, 1)
	require.Equal(t, int64(6), candidates[0].Weight)
	require.Equal(t, 7*time.Second, candidates[0].Delay.Min)
}
