package object_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

func ExampleString() {
	pod := map[string]any{"status": map[string]any{"phase": "Running"}}
	phase, ok := object.String(pod, "status", "phase")
	fmt.Println(phase, ok)
	// Output: Running true
}

func TestInt64(t *testing.T) {
	cases := map[string]struct {
		in   any
		want int64
		ok   bool
	}{
		"an int64 is itself":                    {int64(math.MaxInt64), math.MaxInt64, true},
		"an int is widened":                     {3, 3, true},
		"an int32 is widened":                   {int32(-3), -3, true},
		"a uint8 is widened":                    {uint8(200), 200, true},
		"an integral float64 is an integer":     {3.0, 3, true},
		"a json.Number is read":                 {json.Number("3"), 3, true},
		"an integral decimal is read":           {json.Number("3.0"), 3, true},
		"a fraction is none":                    {3.5, 0, false},
		"a float64 beyond int64 is none":        {float64(math.MaxInt64), 0, false},
		"a uint64 beyond int64 is none":         {uint64(math.MaxUint64), 0, false},
		"not a number is none":                  {math.NaN(), 0, false},
		"a string is none, even with digits":    {"3", 0, false},
		"a malformed json.Number is none":       {json.Number("x"), 0, false},
		"null is none":                          {nil, 0, false},
		"a map is none":                         {map[string]any{}, 0, false},
		"the smallest integer is an integer":    {float64(math.MinInt64), math.MinInt64, true},
		"an exponent is an integer if integral": {json.Number("1e3"), 1000, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := object.Int64(map[string]any{"n": c.in}, "n")
			require.Equal(t, c.ok, ok)
			require.Equal(t, c.want, got)
		})
	}
}

func TestReadsSayWhatIsMissing(t *testing.T) {
	obj := map[string]any{
		"metadata": map[string]any{"labels": map[string]string{"a/b": "c"}, "finalizers": []string{"x"}},
		"spec":     map[string]any{"list": []any{"a", 1}, "null": nil, "on": true, "typed": []map[string]any{{"k": 1}}},
	}
	label, ok := object.String(obj, "metadata", "labels", "a/b")
	require.True(t, ok)
	require.Equal(t, "c", label)

	v, ok := object.Get(obj, "spec", "null")
	require.True(t, ok, "a key whose value is null is there")
	require.Nil(t, v)

	on, ok := object.Bool(obj, "spec", "on")
	require.True(t, on && ok)

	list, ok := object.Slice(obj, "metadata", "finalizers")
	require.True(t, ok)
	require.Equal(t, []any{"x"}, list)

	list, ok = object.Slice(obj, "spec", "typed")
	require.True(t, ok)
	require.Equal(t, []any{map[string]any{"k": 1}}, list)

	names, ok := object.Strings(obj, "metadata", "finalizers")
	require.True(t, ok)
	require.Equal(t, []string{"x"}, names)

	labels, ok := object.Map(obj, "metadata", "labels")
	require.True(t, ok)
	require.Equal(t, map[string]any{"a/b": "c"}, labels)

	for _, path := range [][]string{{"nope"}, {"spec", "on", "x"}, {"spec", "list", "x"}, {"spec", "null", "x"}} {
		_, ok := object.Get(obj, path...)
		require.False(t, ok, path)
	}
	_, ok = object.Strings(obj, "spec", "list")
	require.False(t, ok, "an element is no string")
	_, ok = object.Map(nil, "spec")
	require.False(t, ok)
}

func TestDeepEqual(t *testing.T) {
	cases := map[string]struct {
		a, b any
		want bool
	}{
		"1 and 1.0 are equal":                     {int64(1), 1.0, true},
		"a json.Number equals its value":          {json.Number("1.5"), 1.5, true},
		"large integers keep their precision":     {int64(math.MaxInt64), float64(math.MaxInt64), false},
		"a number is no string":                   {1, "1", false},
		"a number is not null":                    {0, nil, false},
		"null equals null":                        {nil, nil, true},
		"a missing key is not null":               {map[string]any{}, map[string]any{"a": nil}, false},
		"keys differ":                             {map[string]any{"b": nil}, map[string]any{"a": nil}, false},
		"an empty list is not null":               {[]any{}, nil, false},
		"a nil list is empty":                     {[]any{}, []any(nil), true},
		"lists of strings compare by value":       {[]any{"a"}, []string{"a"}, true},
		"order matters in lists":                  {[]any{1, 2}, []any{2, 1}, false},
		"maps of strings compare by value":        {map[string]string{"a": "b"}, map[string]any{"a": "b"}, true},
		"depth is no obstacle":                    {map[string]any{"a": []any{1}}, map[string]any{"a": []any{1.0}}, true},
		"bools compare":                           {true, true, true},
		"a bool is no string":                     {true, "true", false},
		"a list is no map":                        {[]any{}, map[string]any{}, false},
		"lengths differ":                          {[]any{1}, []any{}, false},
		"a value that == cannot compare is safe":  {[]func(){}, 1, false},
		"two that == cannot compare are not safe": {func() {}, func() {}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, object.DeepEqual(c.a, c.b))
			require.Equal(t, c.want, object.DeepEqual(c.b, c.a), "symmetric")
		})
	}
}

func TestDeepCopySharesNothing(t *testing.T) {
	in := map[string]any{"a": []any{map[string]any{"b": int64(1)}}, "c": []string{"d"}, "e": nil}
	out := object.CopyMap(in)
	require.True(t, object.DeepEqual(in, out))

	out["a"].([]any)[0].(map[string]any)["b"] = int64(2)
	out["c"].([]any)[0] = "z"
	require.Equal(t, map[string]any{"a": []any{map[string]any{"b": int64(1)}}, "c": []string{"d"}, "e": nil}, in)
	require.Nil(t, object.CopyMap(nil))
}

func FuzzNumbersCompareByValue(f *testing.F) {
	f.Add(int64(0), 0.0)
	f.Add(int64(math.MaxInt64), 1e300)
	f.Add(int64(-1), -1.0)
	f.Fuzz(func(t *testing.T, i int64, x float64) {
		require.True(t, object.DeepEqual(i, json.Number(fmt.Sprint(i))))
		n, ok := object.ToInt64(x)
		require.Equal(t, ok, object.DeepEqual(n, x))
		require.Equal(t, x == x, object.DeepEqual(x, x))
		require.Equal(t, ok && n == i, object.DeepEqual(i, x))
	})
}
