package parts_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/expression"
	"github.com/stagecraft-go/stagecraft/internal/parts"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// questions are requirements of all kinds. Some are equal, and some are opposites.
var questions = []v1alpha1.MatchExpression{
	jqExpression(".status.phase", v1alpha1.SelectorOpIn, "Running", "Pending"),
	jqExpression(".status.phase", v1alpha1.SelectorOpNotIn, "Running", "Pending"),
	jqExpression(".status.phase", v1alpha1.SelectorOpIn, "Running Pending"),
	jqExpression(".status.phase", v1alpha1.SelectorOpExists),
	jqExpression(".status.phase", v1alpha1.SelectorOpDoesNotExist),
	jqExpression(".status.conditions[] | select(.type == \"Ready\") | .status", v1alpha1.SelectorOpIn, "True"),
	jqExpression(".status.conditions[] | select(.type == \"Ready\") | .status", v1alpha1.SelectorOpNotIn, "True"),
	jqExpression(".status.phase[]", v1alpha1.SelectorOpDoesNotExist), // fails
	jqExpression(".status | to_entries | length", v1alpha1.SelectorOpIn, "3"),
	celExpression("self.status.phase == 'Running'"),
	celExpression("self.status.none == 'Running'"), // fails
	celExpression("!(self.status.phase == 'Running')"),
	celExpression("Rand() < 0.5"),
	celExpression("self.status.conditions.exists(c, c.type == 'Ready' && Rand() < 0.5)"),
}

func jqExpression(key string, operator v1alpha1.SelectorOperator, values ...string) v1alpha1.MatchExpression {
	return v1alpha1.MatchExpression{JQ: &v1alpha1.SelectorJQ{Key: key, Operator: operator, Values: values}}
}

func celExpression(text string) v1alpha1.MatchExpression {
	return v1alpha1.MatchExpression{CEL: &v1alpha1.ExpressionCEL{Expression: text}}
}

// anySelector is one of up to four requirements, labels and annotations.
func anySelector(r *rand.Rand) *v1alpha1.StageSelector {
	if r.IntN(20) == 0 {
		return nil
	}
	s := &v1alpha1.StageSelector{}
	for range r.IntN(5) {
		s.MatchExpressions = append(s.MatchExpressions, questions[r.IntN(len(questions))])
	}
	if r.IntN(3) == 0 {
		s.MatchLabels = map[string]string{"app": []string{"web", "db"}[r.IntN(2)]}
	}
	if r.IntN(3) == 0 {
		s.MatchAnnotations = map[string]string{"example.com/mode": []string{"fast", "web"}[r.IntN(2)]}
	}
	return s
}

func compileAll(t testing.TB, definitions ...*v1alpha1.StageSelector) []*parts.Selector {
	c := expression.NewCompiler(expression.Options{})
	var all []*parts.Selector
	for _, s := range definitions {
		compiled, err := parts.CompileSelector(s, c)
		require.NoError(t, err)
		all = append(all, compiled)
	}
	return all
}

func TestGroupDecidesWhatEachSelectorDecidesAlone(t *testing.T) {
	phases := []any{"Running", "Pending", "Running Pending", nil, int64(1), []any{"Running"}}
	matches := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		var definitions []*v1alpha1.StageSelector
		for range 1 + r.IntN(30) {
			definitions = append(definitions, anySelector(r))
		}
		all := compileAll(t, definitions...)
		group := parts.NewSelectorGroup(all...)
		for range 20 {
			obj := web()
			obj["status"].(map[string]any)["phase"] = phases[r.IntN(len(phases))]
			scope := expression.NewScope(obj, now)
			var known parts.Answers
			for i, s := range all {
				scope.Seed = r.Uint64()
				want := s.Match(scope)
				require.Equal(t, want, group.Match(i, scope, &known), "seed %d, selector %+v", seed, definitions[i])
				if want {
					matches++
				}
			}
		}
	}
	require.Greater(t, matches, 1000)
}

func TestGroupSharesMoreThanAnswersKeep(t *testing.T) {
	var definitions []*v1alpha1.StageSelector
	for i := range 200 {
		s := &v1alpha1.StageSelector{MatchExpressions: []v1alpha1.MatchExpression{
			jqExpression(fmt.Sprintf(".spec.n%d", i/2), v1alpha1.SelectorOpIn, "1"),
			jqExpression(".spec.replicas", v1alpha1.SelectorOpExists),
		}}
		definitions = append(definitions, s)
	}
	obj := web()
	for i := range 100 {
		obj["spec"].(map[string]any)[fmt.Sprintf("n%d", i)] = int64(i % 2)
	}
	group, scope, known := parts.NewSelectorGroup(compileAll(t, definitions...)...), expression.NewScope(obj, now), parts.Answers{}
	for i := range definitions {
		require.Equal(t, i/2%2 == 1, group.Match(i, scope, &known), i)
	}
}

func BenchmarkGroup(b *testing.B) {
	var definitions []*v1alpha1.StageSelector
	for i := range 20 {
		definitions = append(definitions, &v1alpha1.StageSelector{MatchExpressions: []v1alpha1.MatchExpression{
			jqExpression(".metadata.deletionTimestamp", v1alpha1.SelectorOpDoesNotExist), questions[0], questions[5],
			jqExpression(fmt.Sprintf(".metadata.annotations[\"n%d\"]", i), v1alpha1.SelectorOpExists),
		}})
	}
	all := compileAll(b, definitions...)
	group, scope := parts.NewSelectorGroup(all...), expression.NewScope(web(), now)
	b.Run("together", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var known parts.Answers
			for i := range all {
				group.Match(i, scope, &known)
			}
		}
	})
	b.Run("alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, s := range all {
				s.Match(scope)
			}
		}
	})
}

var now = time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)

func web() map[string]any {
	return map[string]any{
		"metadata": map[string]any{
			"name": "web", "labels": map[string]any{"app": "web"}, "annotations": map[string]any{"example.com/mode": "fast"},
		},
		"spec": map[string]any{"replicas": int64(3)},
		"status": map[string]any{
			"phase": "Running", "message": "",
			"conditions": []any{map[string]any{"type": "Ready", "status": "True"}, map[string]any{"type": "Fancy", "status": "False"}},
		},
	}
}
