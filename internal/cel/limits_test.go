package cel

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"
	"github.com/stretchr/testify/require"
)

// counted is a list that counts its iterations.
type counted struct {
	traits.Lister
	times *int
}

func (c counted) Iterator() traits.Iterator {
	*c.times++
	return c.Lister.Iterator()
}

// variables are the fields of the variable self.
type variables map[string]any

func (o variables) Parent() cel.Activation { return nil }

func (o variables) ResolveName(name string) (any, bool) { return map[string]any(o), name == "self" }

func testCompiler(t testing.TB, o Options) *Compiler {
	all := map[string]*types.Type{"self": types.DynType}
	maps.Copy(all, o.Variables)
	o.Variables = all
	c, err := NewCompiler(o)
	require.NoError(t, err)
	return c
}

// TestCostIsLimited checks that two evaluations of an expression differ only by the limit.
func TestCostIsLimited(t *testing.T) {
	items := []any{}
	for i := range int64(20) {
		items = append(items, map[string]any{"n": i, "text": strings.Repeat("x", int(i))})
	}
	for _, text := range []string{
		`self.items.all(x, x.n < 100 && x.text != "y")`,
		`self.items.exists(x, x.n == 7)`,
		`self.items.all(x, self.items.exists(y, y.n >= x.n && y.text.contains(x.text)))`,
		`size(self) == 1 && self.items.exists(x, x.n in [3, 4, 5])`,
	} {
		passed := false
		for limit := uint64(1); limit < 20_000; limit += 200 {
			p, err := testCompiler(t, Options{Cost: limit}).Compile(text)
			require.NoError(t, err)
			ok, err := p.Bool(variables{"items": items})
			require.Equal(t, err == nil, ok)
			if err != nil {
				require.ErrorContains(t, err, "cost limit exceeded")
			}
			require.False(t, passed && err != nil, "%s with %d", text, limit)
			passed = ok
		}
		require.True(t, passed, text)
	}
}

func TestMapsMeasureEachElementOnce(t *testing.T) {
	p, err := testCompiler(t, Options{}).Compile("self.x.map(a, a).size() == 200")
	require.NoError(t, err)
	list, times := make([]any, 200), 0
	for i := range list {
		list[i] = counted{types.NewDynamicList(types.DefaultTypeAdapter, []any{int64(i)}), &times}
	}
	ok, err := p.Bool(variables{"x": list})
	require.NoError(t, err)
	require.True(t, ok)
	require.LessOrEqual(t, times, 2*len(list))
	require.NotZero(t, times)
}

// TestPanicsOfCompilationAreFaults compiles maps whose keys cannot be keys. cel-go computes constants
// when it compiles, and does not recover there.
func TestPanicsOfCompilationAreFaults(t *testing.T) {
	c := testCompiler(t, Options{})
	for _, source := range []string{`{dyn(b"a"): 1} == {}`, `[{dyn(b"a"): 1}]`} {
		_, err := c.Compile(source)
		var fault *CompileError
		require.ErrorAs(t, err, &fault, source)
	}
	for _, source := range []string{`{bytes("a" + string(1)): 1} == {}`, `{dyn(bytes(self)): 1} == {}`} {
		p, err := c.Compile(source)
		if err == nil {
			_, err = p.Eval(variables{"self": "a"})
		}
		require.Error(t, err, source)
	}
}
