package kstatus_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/kstatus"
)

// FuzzCompute checks what holds for any JSON: an answer, always the same, of an object that stays
// as it is.
func FuzzCompute(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, obj := range decodings(data) {
			for _, rules := range []*kstatus.Rules{kstatus.Standard(), kstatus.Extended()} {
				before := object.CopyMap(obj.Object)
				r := rules.Compute(obj, now)
				require.NotEmpty(t, r.Status)
				require.True(t, r == rules.Compute(obj, now), "the same verdict")
				require.Equal(t, r, rules.Explain(obj, now).Result)
				_, _, _ = r.Message(), r.Field(), rules.Explain(obj, now).String()
				require.True(t, object.DeepEqual(before, obj.Object), "the object stays as it is")
				if r.RecheckAfter > 0 {
					require.NotEqual(t, r, rules.Compute(obj, now.Add(r.RecheckAfter)), "the verdict changes when it says so")
				}
			}
		}
	})
}

// FuzzAugment checks that augmenting is no evidence: the verdict stays, and a second time changes
// nothing.
func FuzzAugment(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, obj := range decodings(data) {
			before := kstatus.Standard().Compute(obj, now)
			r := kstatus.Standard().Augment(obj, now)
			require.Equal(t, before, r)
			once := object.CopyMap(obj.Object)
			again := kstatus.Standard().Augment(obj, now)
			require.Equal(t, [2]any{r.Status, r.Message()}, [2]any{again.Status, again.Message()})
			kstatus.Standard().Augment(obj, now.Add(time.Nanosecond))
			require.True(t, object.DeepEqual(once, obj.Object), "twice is once")
		}
	})
}

// FuzzAggregate checks that the order of the objects is of no account, and that an aggregate is one
// of what went in, or InProgress.
func FuzzAggregate(f *testing.F) {
	f.Add("Current", "Failed", "Unknown")
	f.Add("NotFound", "NotFound", "NotFound")
	f.Fuzz(func(t *testing.T, desired, a, b string) {
		want, x, y := kstatus.Status(desired), kstatus.Status(a), kstatus.Status(b)
		got := want.Aggregate(x, y)
		require.Equal(t, got, want.Aggregate(y, x))
		require.Contains(t, []kstatus.Status{want, x, y, kstatus.InProgress}, got)
	})
}

func addSeeds(f *testing.F) {
	for _, obj := range measured(f) {
		data, err := json.Marshal(obj.Object)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"creationTimestamp":"2025-12-31T23:59:59Z"},
		"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable"}]}}`))
	f.Add([]byte(`{"status":{"conditions":[{"type":"Reconciling","status":true},
		{"type":"Stalled","status":"True","augmentedBy":"kstatus"},{"type":1}]}}`))
	f.Add([]byte(`{"metadata":{"generation":{}},"status":{"observedGeneration":{}}}`))
}

// decodings are the object as API clients and as encoding/json read it.
func decodings(data []byte) []*unstructured.Unstructured {
	a, b := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	if k8sjson.Unmarshal(data, &a.Object) != nil || json.Unmarshal(data, &b.Object) != nil {
		return nil
	}
	return []*unstructured.Unstructured{a, b}
}
