package selector_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/selector"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// Your own limits and functions, in jq and in CEL.
func ExampleOptions() {
	options := selector.Options{
		JQSteps: 1000,
		CELCost: 1000,
		JQFunctions: map[string]func(input any, args []any) any{
			"registry/0": func(image any, _ []any) any {
				name, ok := image.(string)
				if !ok {
					return errors.New("registry: the image is no string")
				}
				registry, _, _ := strings.Cut(name, "/")
				return registry
			},
		},
		CELOptions: []cel.EnvOption{cel.Function("isEven", cel.Overload("isEven_int", []*cel.Type{cel.IntType}, cel.BoolType,
			cel.UnaryBinding(func(n ref.Val) ref.Val { return types.Bool(n.(types.Int)%2 == 0) })))},
	}
	s, err := selector.Compile(&v1alpha1.StageSelector{MatchExpressions: []v1alpha1.MatchExpression{
		{Key: ".spec.containers[].image | registry", Operator: v1alpha1.SelectorOpIn, Values: []string{"ghcr.io"}},
		{CEL: &v1alpha1.ExpressionCEL{Expression: "isEven(self.spec.priority)"}},
	}}, options)
	if err != nil {
		panic(err)
	}
	obj := map[string]any{"spec": map[string]any{
		"priority": int64(4), "containers": []any{map[string]any{"image": "ghcr.io/example/web:1"}},
	}}
	fmt.Println(s.Match(obj, now))

	_, err = selector.Compile(&v1alpha1.StageSelector{MatchExpressions: []v1alpha1.MatchExpression{
		{Key: ".spec.image | registri", Operator: v1alpha1.SelectorOpExists},
	}}, options)
	if fault, ok := errors.AsType[*selector.Error](err); ok {
		fmt.Println(fault.Path, fault.Offset, fault.Err)
	}
	// Output:
	// true
	// matchExpressions[0].key 14 function not defined: registri/0
}

func TestLimitsAreOptions(t *testing.T) {
	obj := map[string]any{"items": []any{int64(1), int64(2), int64(3)}}
	for name, tc := range map[string]struct {
		expression v1alpha1.MatchExpression
		options    selector.Options
		fault      string
	}{
		"steps of jq": {v1alpha1.MatchExpression{Key: "[range(100)]", Operator: v1alpha1.SelectorOpExists}, selector.Options{JQSteps: 50}, "step budget of 50"},
		"size of jq":  {v1alpha1.MatchExpression{Key: `"x" * 200`, Operator: v1alpha1.SelectorOpExists}, selector.Options{ExpressionSize: 100}, "size budget of 100"},
		"cost of CEL": {v1alpha1.MatchExpression{CEL: &v1alpha1.ExpressionCEL{Expression: "self.items.all(x, x > 0)"}}, selector.Options{CELCost: 5}, "cost limit"},
		"size of CEL": {v1alpha1.MatchExpression{CEL: &v1alpha1.ExpressionCEL{Expression: "self.items.map(x, x).size() == 3"}}, selector.Options{ExpressionSize: 30}, "larger than 30"},
	} {
		t.Run(name, func(t *testing.T) {
			definition := &v1alpha1.StageSelector{MatchExpressions: []v1alpha1.MatchExpression{tc.expression}}
			limited, err := selector.Compile(definition, tc.options)
			require.NoError(t, err)
			require.False(t, limited.Match(obj, now))
			require.ErrorContains(t, limited.Explain(obj, now)[0].Err, tc.fault)
			free, err := selector.Compile(definition, selector.Options{})
			require.NoError(t, err)
			require.True(t, free.Match(obj, now))
		})
	}
}

func TestOptionsThatCannotBeMeant(t *testing.T) {
	_, err := selector.Compile(parse(t, "{matchExpressions: [{key: '[.a | length] | add', operator: Exists}]}"),
		selector.Options{JQFunctions: map[string]func(any, []any) any{"length/0": nil}})
	require.ErrorContains(t, err, "jq itself has a function length")
	_, err = selector.Compile(parse(t, "{matchExpressions: [{cel: {expression: 'true'}}]}"),
		selector.Options{CELOptions: []cel.EnvOption{cel.Function("size", cel.Overload("mine", []*cel.Type{cel.StringType}, cel.IntType))}})
	require.ErrorContains(t, err, "collision")
}
