package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stagecraft-go/stagecraft/internal/patch"
	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

const documents = 20_000

func TestPatchesAgreeWithTheReferenceOnRandomDocuments(t *testing.T) {
	for name, check := range map[string]func(*testing.T, uint64) bool{
		"merge": checkMerge, "json": checkJSON, "strategic": checkStrategic,
	} {
		t.Run(name, func(t *testing.T) {
			applied := 0
			for seed := range uint64(documents) {
				if check(t, seed) {
					applied++
				}
			}
			t.Logf("%d of %d patches applied in the reference", applied, documents)
			require.Greater(t, applied, documents/5)
		})
	}
}

func FuzzMerge(f *testing.F)     { fuzz(f, checkMerge) }
func FuzzJSON(f *testing.F)      { fuzz(f, checkJSON) }
func FuzzStrategic(f *testing.F) { fuzz(f, checkStrategic) }

func fuzz(f *testing.F, check func(*testing.T, uint64) bool) {
	f.Add(uint64(1 << 40))
	f.Fuzz(func(t *testing.T, seed uint64) { check(t, seed) })
}

func checkMerge(t *testing.T, seed uint64) bool {
	r := newRandom(seed)
	target, body := r.object(4), r.object(4)
	want, err := jsonpatch.MergePatch(encode(t, target), encode(t, body))
	require.NoError(t, err)
	unchanged(t, target, body, func() {
		got := patch.Merge(target, body)
		require.JSONEq(t, string(want), string(encode(t, got)), "seed %d", seed)
	})
	return true
}

func checkJSON(t *testing.T, seed uint64) bool {
	r := newRandom(seed)
	target := pick[any](r, r.object(4), r.object(4), r.list(4))
	ops := r.operations(target)
	want, refused := applyReference(t, target, ops)
	unchanged(t, target, ops, func() {
		got, err := patch.JSON(target, ops)
		if errors.Is(refused, errPanic) || errors.Is(refused, jsonpatch.ErrTestFailed) && strings.Contains(string(encode(t, ops)), "null") {
			return // two nulls are not always equal in the reference
		}
		require.Equal(t, refused == nil, err == nil, "seed %d: %v and %v for %s on %s", seed, refused, err, encode(t, ops), encode(t, target))
		if refused == nil {
			require.JSONEq(t, string(want), string(encode(t, got)), "seed %d", seed)
		}
	})
	return refused == nil
}

func applyReference(t *testing.T, target any, ops []any) (out []byte, err error) {
	decoded, err := jsonpatch.DecodePatch(encode(t, ops))
	require.NoError(t, err)
	defer refusePanic(&err)
	return decoded.Apply(encode(t, target))
}

func checkStrategic(t *testing.T, seed uint64) bool {
	r := newRandom(seed)
	target, body := r.pod(false), r.pod(true)
	want, refused := mergeReference(encode(t, target), encode(t, body))
	schema, _ := patch.SchemaFor("", "v1", "Pod")
	unchanged(t, target, body, func() {
		got, err := patch.Strategic(schema, target, body)
		if errors.Is(refused, errPanic) {
			return
		}
		if err == nil && refused != nil {
			require.Regexp(t, lenient, refused, "seed %d: %s on %s", seed, encode(t, body), encode(t, target))
		}
		if refused == nil {
			require.NoError(t, err, "seed %d: %s on %s", seed, encode(t, body), encode(t, target))
			want, got := plain(decode(t, want)), plain(got)
			if text := string(encode(t, body)); strings.Contains(text, "$setElementOrder") && strings.Contains(text, `"$patch":"delete"`) {
				want, got = sorted(t, want), sorted(t, got) // the reference's order depends on a slice it overwrites
			}
			require.Equal(t, want, got, "seed %d: %s on %s", seed, encode(t, body), encode(t, target))
		}
	})
	return refused == nil
}

func mergeReference(target, body []byte) (out []byte, err error) {
	defer refusePanic(&err)
	return strategicpatch.StrategicMergePatch(target, body, corev1.Pod{})
}

var errPanic = errors.New("panic")

// lenient matches errors of the reference alone: an order for an empty list, for a list that does
// not merge, or together with an element with $patch: replace or merge.
var lenient = regexp.MustCompile(`no elements in any|(?s)The order in patch list.*patch:(replace|merge)|does not contain declared merge key: \S*$`)

// refusePanic turns a panic of the reference into an error.
func refusePanic(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: %v", errPanic, r)
	}
}

// unchanged checks that the inputs are left alone.
func unchanged(t *testing.T, target, body any, f func()) {
	before := [2]string{string(encode(t, target)), string(encode(t, body))}
	f()
	require.Equal(t, before, [2]string{string(encode(t, target)), string(encode(t, body))})
}

// plain drops the values that decoding into Go types drops: null and directives.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, e := range v {
			if m, ok := e.(map[string]any); ok && m["$patch"] != nil || e == nil || strings.HasPrefix(key, "$") {
				continue
			}
			out[key] = plain(e)
		}
		return out
	case []any:
		out := []any{}
		for _, e := range v {
			if m, ok := e.(map[string]any); !ok || m["$patch"] == nil {
				out = append(out, plain(e))
			}
		}
		return out
	}
	return v
}

// sorted puts every list in the order of its encoded elements.
func sorted(t *testing.T, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			v[key] = sorted(t, e)
		}
	case []any:
		for i, e := range v {
			v[i] = sorted(t, e)
		}
		slices.SortFunc(v, func(a, b any) int { return strings.Compare(string(encode(t, a)), string(encode(t, b))) })
	}
	return v
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return data
}

func decode(t *testing.T, data []byte) (v any) {
	require.NoError(t, utiljson.Unmarshal(data, &v))
	return v
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func keysOf(m map[string]any) []any {
	keys := []any{}
	for _, key := range sortedKeys(m) {
		keys = append(keys, key)
	}
	return keys
}
