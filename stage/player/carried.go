package player

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/patch"
	"github.com/stagecraft-go/stagecraft/stage"
)

// carriedOut reports whether a patch that was sent for the state before is in the present state of
// the object: the patch would change nothing now, or the parts that it changes are as it left them.
// The second rule tells of JSON patches that append, and of changes that others made since. Both
// allow for what a server does: it adds and drops fields with empty values, and rounds times to
// seconds.
func carriedOut(p stage.Patch, before, obj *unstructured.Unstructured) bool {
	if again, err := p.Result(obj); err == nil && asStored(again, obj.Object) {
		return true
	}
	after, err := p.Result(before)
	if err != nil {
		return false
	}
	var seen traces
	seen.compare(before.Object, after, obj.Object)
	return seen.after && !seen.before
}

// traces say which parts of a change an object shows: those as after it, and those as before it. A
// patch is carried out as a whole, so a part as before it means that it was not, or was undone.
type traces struct{ after, before bool }

func (t *traces) compare(before, after, now any) {
	if patch.Equal(before, after) {
		return
	}
	b, isMap := before.(map[string]any)
	a, alsoMap := after.(map[string]any)
	if isMap && alsoMap {
		n, _ := now.(map[string]any)
		t.fields(b, a, n)
		return
	}
	b2, isList := before.([]any)
	a2, alsoList := after.([]any)
	n2, nowList := now.([]any)
	if (isList || before == nil) && (alsoList || after == nil) && nowList {
		t.items(count(b2), count(a2), count(n2))
		return
	}
	t.note(asStored(after, now), asStored(before, now))
}

func (t *traces) note(after, before bool) {
	t.after = t.after || after
	t.before = t.before || before && !after
}

func (t *traces) fields(before, after, now map[string]any) {
	for name := range before {
		t.compare(before[name], after[name], now[name])
	}
	for name := range after {
		if _, had := before[name]; !had {
			t.compare(nil, after[name], now[name])
		}
	}
}

// items compares lists by how often they have each item, since others may have added items.
func (t *traces) items(before, after, now map[string]int) {
	for item := range before {
		t.item(before[item], after[item], now[item])
	}
	for item := range after {
		if before[item] == 0 {
			t.item(0, after[item], now[item])
		}
	}
}

func (t *traces) item(before, after, now int) {
	switch {
	case after > before:
		t.note(now >= after, now <= before)
	case after < before:
		t.note(now <= after, now >= before)
	}
}

func count(list []any) map[string]int {
	n := map[string]int{}
	for _, item := range list {
		text, _ := json.Marshal(item) // a value of an object
		n[string(text)]++
	}
	return n
}

// asStored reports whether a server can have stored the value v as stored.
func asStored(v, stored any) bool {
	switch v := v.(type) {
	case map[string]any:
		other, ok := stored.(map[string]any)
		return (ok || stored == nil) && fieldsAsStored(v, other)
	case []any:
		other, ok := stored.([]any)
		return (ok || stored == nil) && itemsAsStored(v, other)
	}
	return patch.Equal(v, stored) || isEmpty(v) && isEmpty(stored) || sameSecond(v, stored)
}

func fieldsAsStored(v, stored map[string]any) bool {
	for name := range stored {
		if _, has := v[name]; !has && !isEmpty(stored[name]) {
			return false
		}
	}
	for name := range v {
		if !asStored(v[name], stored[name]) {
			return false
		}
	}
	return true
}

func itemsAsStored(v, stored []any) bool {
	if len(v) != len(stored) {
		return false
	}
	for i := range v {
		if !asStored(v[i], stored[i]) {
			return false
		}
	}
	return true
}

// isEmpty reports whether a value means the same as a missing field.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return patch.Equal(v, int64(0))
}

func sameSecond(a, b any) bool {
	at, ok := timeOf(a)
	bt, also := timeOf(b)
	return ok && also && at.Truncate(time.Second).Equal(bt.Truncate(time.Second))
}

func timeOf(v any) (time.Time, bool) {
	text, _ := v.(string)
	t, err := time.Parse(time.RFC3339Nano, text)
	return t, err == nil
}
