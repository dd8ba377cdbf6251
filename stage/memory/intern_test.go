package memory_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	jsonvalue "github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/patch"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// The parts that objects share have places in a table by a random hash, so that two parts can have the
// same place, and one of them is then not shared. That is rare: of a hundred clusters a few.
func TestObjectsShareWhatTheyHaveInCommon(t *testing.T) {
	const clusters = 100
	shared := map[string]int{}
	for range clusters {
		stored := threePods(t)
		for _, path := range [][]string{{"spec"}, {"metadata", "labels"}} {
			if isShared(stored[0], stored[1], path...) {
				shared[fmt.Sprint(path)]++
			}
		}
		if isShared(stored[0], stored[2], "spec", "containers") {
			shared["containers"]++
		}
		require.False(t, isShared(stored[0], stored[2], "spec"))
		require.False(t, isShared(stored[0], stored[1], "metadata"))
	}
	require.Len(t, shared, 3)
	for part, n := range shared {
		require.Greater(t, n, clusters*3/4, part)
	}
}

// threePods returns three Pods of a new cluster as they are stored. The last one has another Node.
func threePods(t *testing.T) (stored []map[string]any) {
	c := memory.New(memory.Options{}).Shared()
	for i := range 3 {
		u := typical(t, i)
		if i == 2 {
			u.Object["spec"].(map[string]any)["nodeName"] = "another"
		}
		u, err := c.Create(t.Context(), u, metav1.CreateOptions{})
		require.NoError(t, err)
		stored = append(stored, u.Object)
	}
	return stored
}

func isShared(a, b map[string]any, path ...string) bool {
	v, _ := jsonvalue.Get(a, path...)
	w, _ := jsonvalue.Get(b, path...)
	return reflect.ValueOf(v).Pointer() == reflect.ValueOf(w).Pointer()
}

func TestTheStoreKeepsNothingOfACaller(t *testing.T) {
	c := memory.New(memory.Options{})
	for i := range 3 {
		u := typical(t, i)
		_, err := c.Create(t.Context(), u, metav1.CreateOptions{})
		require.NoError(t, err)
		u.Object["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["image"] = "changed"
		u.Object["metadata"].(map[string]any)["labels"].(map[string]any)["app"] = "changed"
	}
	for i := range 3 {
		got, err := c.Get(t.Context(), pods, at(fmt.Sprintf("pod-%06d", i)))
		require.NoError(t, err)
		require.Equal(t, typical(t, i).Object["spec"], got.Object["spec"])
		require.Equal(t, typical(t, i).GetLabels(), got.GetLabels())
	}
}

// TestWhatIsStoredIsWhatWasSent creates many objects of the same few values, so that the interner
// looks up all kinds of parts.
func TestWhatIsStoredIsWhatWasSent(t *testing.T) {
	c := memory.New(memory.Options{Kinds: []memory.Kind{{GroupVersionKind: widgets}}})
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		spec := map[string]any{"a": anything(r, 3), "b": anything(r, 3)}
		u := object(widgets, fmt.Sprintf("c%d", i))
		u.Object["spec"] = spec
		want := jsonvalue.DeepCopy(spec)
		got, err := c.Create(t.Context(), u, metav1.CreateOptions{})
		require.NoError(t, err)
		require.Equal(t, want, got.Object["spec"])
	}
}

// anything returns a value that is easily confused with another value.
func anything(r *rand.Rand, depth int) any {
	scalars := []any{nil, true, false, "", "1", "a", int64(0), int64(1), 0.0, 1.0, 1.5}
	switch n := r.IntN(4); {
	case depth == 0 || n < 2:
		return scalars[r.IntN(len(scalars))]
	case n == 2:
		list := []any{}
		for range r.IntN(3) {
			list = append(list, anything(r, depth-1))
		}
		return list
	default:
		m := map[string]any{}
		for range r.IntN(3) {
			m[string(rune('a'+r.IntN(3)))] = anything(r, depth-1)
		}
		return m
	}
}

// TestPatchValueIsPatch sends the same patches as text and as values.
func TestPatchValueIsPatch(t *testing.T) {
	byText, byValue := memory.New(memory.Options{}), memory.New(memory.Options{})
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range []*memory.Cluster{byText, byValue} {
		_, err := c.Create(t.Context(), object(configMaps, "a"), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	for range 2000 {
		body := map[string]any{"x": anything(r, 3), "y": anything(r, 3)}
		data, err := jsonvalue.AppendJSON(nil, body)
		require.NoError(t, err)
		want, err := byText.Patch(t.Context(), configMaps, at("a"), types.MergePatchType, data, metav1.PatchOptions{})
		require.NoError(t, err)
		var values any
		require.NoError(t, utiljson.Unmarshal(data, &values))
		before, err := byValue.Shared().Get(t.Context(), configMaps, at("a"))
		require.NoError(t, err)
		got, err := patchValue(t, byValue, merging(before, values))
		require.NoError(t, err)
		require.Equal(t, want.Object["x"], got.Object["x"])
		require.Equal(t, want.Object["y"], got.Object["y"])
		require.Equal(t, want.GetResourceVersion(), got.GetResourceVersion())
	}
}

// TestPatchValueOfAStatusIsPatch is the same for the status of a Pod, patches that change nothing
// included. What was stored before does not change.
func TestPatchValueOfAStatusIsPatch(t *testing.T) {
	clock := func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }
	byText, byValue := memory.New(memory.Options{Now: clock}), memory.New(memory.Options{Now: clock})
	r := rand.New(rand.NewPCG(5, 6))
	for _, c := range []*memory.Cluster{byText, byValue} {
		_, err := c.Create(t.Context(), object(pods, "a"), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	for range 500 {
		body := map[string]any{"status": map[string]any{"phase": []any{"Pending", "Running"}[r.IntN(2)]}}
		if r.IntN(4) == 0 {
			body["spec"] = map[string]any{"nodeName": "a status write cannot say so"}
		}
		data, err := jsonvalue.AppendJSON(nil, body)
		require.NoError(t, err)
		want, err := byText.Patch(t.Context(), pods, at("a"), types.MergePatchType, data, metav1.PatchOptions{}, "status")
		require.NoError(t, err)
		before, err := byValue.Shared().Get(t.Context(), pods, at("a"))
		require.NoError(t, err)
		kept, p := before.DeepCopy(), merging(before, body)
		metadata := address(before.Object["metadata"])
		p.Subresource = "status"
		got, err := patchValue(t, byValue, p)
		require.NoError(t, err)
		require.Equal(t, want.Object, got.Object)
		require.Equal(t, kept, before)
		require.Equal(t, metadata, address(before.Object["metadata"]), "nor does an equal part take the place of one: others may read it meanwhile")
	}
}

func address(m any) uintptr { return reflect.ValueOf(m).Pointer() }

func merging(obj *unstructured.Unstructured, body any) transport.PatchResult {
	key := stage.KeyOf(obj)
	return transport.PatchResult{
		Kind: key.GroupVersionKind(), Name: key.NamespacedName(), Type: types.MergePatchType, Data: body,
		Before: obj, After: patch.Merge(obj.Object, body),
	}
}

func patchValue(t *testing.T, c *memory.Cluster, p transport.PatchResult) (*unstructured.Unstructured, error) {
	return c.Share().(transport.ValueWriter).PatchValue(t.Context(), p, metav1.PatchOptions{})
}

// TestPatchValueTakesOnlyWhatWasMadeOfTheStoredObject pins when the patch is applied to what is
// stored instead.
func TestPatchValueTakesOnlyWhatWasMadeOfTheStoredObject(t *testing.T) {
	c := memory.New(memory.Options{})
	first, err := c.Create(t.Context(), object(configMaps, "a"), metav1.CreateOptions{})
	require.NoError(t, err)
	changed := first.DeepCopy()
	changed.Object["x"] = "of the caller alone"
	got, err := patchValue(t, c, merging(changed, map[string]any{"y": "1"}))
	require.NoError(t, err)
	require.Equal(t, "1", got.Object["y"])
	require.NotContains(t, got.Object, "x", "a copy is not the object")

	_, err = patchValue(t, c, merging(first, map[string]any{"y": "2"}))
	require.True(t, apierrors.IsConflict(err), "it has another version by now: %v", err)

	first.SetResourceVersion("")
	got, err = patchValue(t, c, merging(first, map[string]any{"y": "3"}))
	require.NoError(t, err, "no version is any version")
	require.Equal(t, "3", got.Object["y"])
}

func TestPatchValueCannotChangeTheKind(t *testing.T) {
	c := memory.New(memory.Options{})
	_, err := c.Create(t.Context(), object(configMaps, "a"), metav1.CreateOptions{})
	require.NoError(t, err)
	stored, err := c.Shared().Get(t.Context(), configMaps, at("a"))
	require.NoError(t, err)
	p := merging(stored, map[string]any{"kind": "Secret", "data": map[string]any{"a": "b"}})
	_, err = patchValue(t, c, p)
	require.True(t, apierrors.IsInvalid(err), err)
	p.Type = types.StrategicMergePatchType
	got, err := patchValue(t, c, p)
	require.NoError(t, err)
	require.Equal(t, "ConfigMap", got.GetKind(), "a strategic merge patch changes the rest")
	require.Equal(t, map[string]any{"a": "b"}, got.Object["data"])
}
