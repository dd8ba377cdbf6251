package lint

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/parts"
	"github.com/stagecraft-go/stagecraft/selector"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// keys are paths in every way of writing; some lead to the same values.
var keys = []string{
	".a", `."a"`, `.["a"]`, ". | .a", "(.a)", ".a?", ".b", ".list[].x", ".list.[].x", ".list[]?.x", ".list[0].x", ".list[1].x",
	`.list[] | select(.y == "p") | .x`, `.list[] | select(.y == "q") | .x`,
}

// objects are small, and enough to distinguish the requirements on the keys.
func objects() []map[string]any {
	var all []map[string]any
	values := []any{nil, "p", "q", "r"}
	for _, a := range values {
		for _, x := range values {
			for _, y := range values {
				all = append(all, map[string]any{"a": a, "b": x, "list": []any{map[string]any{"x": x, "y": "p"}, map[string]any{"x": y, "y": "q"}}})
			}
		}
		all = append(all, map[string]any{"a": a}, map[string]any{"list": a}, map[string]any{"list": []any{}, "b": a})
	}
	return all
}

func every(operator v1alpha1.SelectorOperator, values ...string) (list []v1alpha1.MatchExpression) {
	for _, key := range keys {
		list = append(list, v1alpha1.MatchExpression{Key: key, Operator: operator, Values: values})
	}
	return list
}

// TestImpliesAndExcludesAreSound compares the results of implies and excludes for two requirements
// with the results of the compiled selectors on all objects.
func TestImpliesAndExcludesAreSound(t *testing.T) {
	expressions := append(every(v1alpha1.SelectorOpExists), every(v1alpha1.SelectorOpDoesNotExist)...)
	for _, values := range [][]string{{"p"}, {"q"}, {"p", "q"}, {"q", "r"}} {
		expressions = append(expressions, every(v1alpha1.SelectorOpIn, values...)...)
		expressions = append(expressions, every(v1alpha1.SelectorOpNotIn, values...)...)
	}
	type row struct {
		requirement
		holds []bool
	}
	var rows []row
	all := objects()
	for _, e := range expressions {
		s := &v1alpha1.StageSelector{MatchExpressions: []v1alpha1.MatchExpression{e}}
		compiled, err := selector.Compile(s, selector.Options{})
		require.NoError(t, err)
		read := requirementsOf(parts.ReadSelector(s))
		require.Len(t, read, 1, e.Key)
		r := row{requirement: read[0]}
		for _, obj := range all {
			r.holds = append(r.holds, compiled.Match(obj, now))
		}
		rows = append(rows, r)
	}
	implied, excluded := 0, 0
	for _, r := range rows {
		for _, other := range rows {
			implies, excludes := r.implies(other.requirement), r.excludes(other.requirement)
			for i, obj := range all {
				if implies && r.holds[i] && !other.holds[i] || excludes && r.holds[i] && other.holds[i] {
					require.Fail(t, "unsound", "%s %s %s and %s %s %s on %v", r.text, r.operator, r.values, other.text, other.operator, other.values, obj)
				}
			}
			if excludes != other.excludes(r.requirement) {
				require.Fail(t, "excluding is mutual", "%s %s and %s %s", r.text, r.operator, other.text, other.operator)
			}
			if implies {
				implied++
			}
			if excludes {
				excluded++
			}
		}
		require.True(t, r.implies(r.requirement))
	}
	require.Greater(t, implied, 3*len(rows))
	require.Greater(t, excluded, len(rows))
}

// TestPathsAgreeWithJQ sets a value by each path and reads it with the compiled program.
func TestPathsAgreeWithJQ(t *testing.T) {
	for _, key := range append(keys, ".status.conditions.[] | select(.type == \"Ready\") | .status", `.metadata.labels["a/b"]`, `.spec.containers[2].args[1]`) {
		p, ok := parsePath(key)
		require.True(t, ok, key)
		for _, base := range append(objects(), map[string]any{}) {
			text := fmt.Sprint(base)
			obj := map[string]any{}
			for k, v := range base {
				obj[k] = v
			}
			p.set(obj, "value")
			got, found := p.get(obj)
			require.True(t, found, "%s %s", key, text)
			require.NotNil(t, got)
			s, err := selector.Compile(&v1alpha1.StageSelector{MatchExpressions: []v1alpha1.MatchExpression{{Key: key, Operator: v1alpha1.SelectorOpIn, Values: []string{"value"}}}}, selector.Options{})
			require.NoError(t, err)
			require.True(t, s.Match(obj, now), "%s in %v", key, obj)
		}
	}
}

func TestWhatIsNoPath(t *testing.T) {
	for _, key := range []string{"", ".a |", ".a, .b", ".a + .b", ".a[1:2]", ".a[-1]", `.["\(.b)"]`, "length", `.a | select(.b)`, `.a | select(.b == 1)`, "..", ".a as $x | $x", ".[.b]", ".a[1000000]"} {
		_, ok := parsePath(key)
		require.False(t, ok, key)
	}
}
