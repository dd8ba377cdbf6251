package render

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	goyaml "go.yaml.in/yaml/v2"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// FuzzMarshalYAML compares with the library, which goes by JSON, wherever that gives the same text
// every time, and with itself everywhere.
func FuzzMarshalYAML(f *testing.F) {
	for _, s := range []string{
		`{"storage":"1Gi","cpu":"4","n":3,"f":1.5,"big":1e6,"y":"yes","no":false,"nil":null,"a10":1,"a9":2,"":"","e":"é","t":"2006-01-02","x":"0x10","m":"a: b","l":[[],{},["~"]]}`,
		`["- a","#","1_000","line\nbreak","<a>","true","null","1e3","0o7","=", "!x", "&a", "*a", "12:30"]`, `"x"`, `{"b":{"b":{"b":[]}}}`,
		`{"a7":1,"a11":2,"a1A":3}`, `{"é7":{"é7":[],"é11":{},"é1A":""}}`, `{"<<":{"a":1},"1":2,"true":3,"~":4}`, `{"v1":1,"v01":2,"v001":3,"v10":4,"v1.0":5,"v1-0":6,"v":7}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if utiljson.Unmarshal([]byte(text), &v) != nil {
			return
		}
		want, wantErr := yaml.Marshal(v)
		got, err := marshalYAML(v)
		require.Equal(t, wantErr, err)
		for range 3 {
			again, _ := marshalYAML(shuffled(v))
			require.Equal(t, string(got), string(again))
		}
		if err != nil || settled(v) {
			require.Equal(t, string(want), string(got))
			return
		}
		wantJSON, err := yaml.YAMLToJSON(want)
		require.NoError(t, err)
		gotJSON, err := yaml.YAMLToJSON(got)
		require.NoError(t, err)
		require.Equal(t, string(wantJSON), string(gotJSON))
	})
}

// shuffled returns a copy of a value, whose mappings came to be in another order.
func shuffled(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, item := range v { // in any order
			out[k] = shuffled(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = shuffled(item)
		}
		return out
	}
	return v
}

// settled reports whether the library writes the keys of every mapping in one order only: whether
// compareKeys is an order of them.
func settled(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		keys := slices.Collect(maps.Keys(v))
		return !cyclic(keys) && !slices.ContainsFunc(keys, func(k string) bool { return !settled(v[k]) })
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !settled(item) })
	}
	return true
}

// cyclic reports whether the keys have a cycle, in which each key precedes the next. One of any two
// keys precedes the other. So the keys have a cycle if and only if two of them have the same number
// of predecessors.
func cyclic(keys []string) bool {
	counts := map[int]bool{}
	for _, k := range keys {
		before := 0
		for _, other := range keys {
			if other != k && compareKeys(other, k) < 0 {
				before++
			}
		}
		counts[before] = true
	}
	return len(counts) < len(keys)
}

// FuzzCompareKeys compares with how the library writes two keys, which it does in one order only.
func FuzzCompareKeys(f *testing.F) {
	for _, pair := range [][2]string{
		{"a7", "a11"}, {"a11", "a1A"}, {"a7", "a1A"}, {"", "a"}, {"a", "aa"}, {"a-1", "a1"}, {"a0", "a00"}, {"a10", "a1"}, {"a100", "a11"}, {"a010", "a01-"}, {"é", "e"},
		{"a_", "aB"}, {"B", "a"}, {"x9223372036854775808", "x1"}, {"x٣", "x9"}, {"1", "-"}, {"10-", "1-"}, {"100", "1٣"}, {"a00", "a0"}, {"é٣1", "é٤"},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		a, b = asJSON(a), asJSON(b)
		if a == b {
			return
		}
		require.Equal(t, compareKeys(a, b), -compareKeys(b, a))
		want, err := goyaml.Marshal(map[string]int{a: 1, b: 2})
		require.NoError(t, err)
		list := goyaml.MapSlice{{Key: a, Value: 1}, {Key: b, Value: 2}}
		if compareKeys(b, a) < 0 {
			slices.Reverse(list)
		}
		got, err := goyaml.Marshal(list)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	})
}

// asJSON is a key as JSON would give it.
func asJSON(s string) string { return string([]rune(s)) }

// TestCycleOfKeys checks the order of keys that form a cycle: each key precedes the next, and the
// last precedes the first. No key stands next to a key that it precedes.
func TestCycleOfKeys(t *testing.T) {
	require.True(t, cyclic([]string{"a7", "a11", "a1A"}))
	require.False(t, cyclic([]string{"a7", "a11", "a1-", "a1"}))
	for range 20 {
		got, err := marshalYAML(map[string]any{"a7": int64(1), "a11": int64(2), "a1A": int64(3), "b": "é"})
		require.NoError(t, err)
		require.Equal(t, "a11: 2\na1A: 3\na7: 1\nb: é\n", string(got))
	}
}

// TestKeysAreOrderedAlike tries all subsets of keys that tend to form cycles. No key stands next to
// a key that it precedes.
func TestKeysAreOrderedAlike(t *testing.T) {
	keys := []string{"a", "a0", "a00", "a01", "a1", "a1-", "a10", "a11", "a1A", "a7", "a7B", "aA"}
	for set := range 1 << len(keys) {
		m := map[any]any{}
		for i, key := range keys {
			if set>>i&1 == 1 {
				m[key] = nil
			}
		}
		list := ordered(m).(goyaml.MapSlice)
		for i := 1; i < len(list); i++ {
			require.Negative(t, compareKeys(keyOf(list[i-1]), keyOf(list[i])), fmt.Sprint(list))
		}
	}
}

func BenchmarkMarshalYAML(b *testing.B) {
	v := map[string]any{
		"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": nil, "message": "kubelet is posting ready status",
		"resources": map[string]any{"limits": map[string]any{"cpu": "4", "memory": "1Gi"}}, "ports": []any{map[string]any{"containerPort": int64(80), "name": "http"}},
	}
	b.ReportAllocs()
	for b.Loop() {
		_, err := marshalYAML(v)
		require.NoError(b, err)
	}
}
