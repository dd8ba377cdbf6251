package player

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/patch"
	"github.com/stagecraft-go/stagecraft/stage"
)

// carriedOut reports whether the object has the changes of the patch. It allows for changes that a
// server makes: the server adds and drops fields with empty values, and rounds times to seconds.
func carriedOut(p stage.Patch, obj *unstructured.Unstructured) bool {
	after, err := p.Result(obj)
	return err == nil && asStored(after, obj.Object)
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
