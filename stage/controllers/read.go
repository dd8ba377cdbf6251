package controllers

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// The readers return the zero value, or the fallback, for what is missing or of another type.

func text(m map[string]any, path ...string) string {
	s, _ := object.String(m, path...)
	return s
}

func number(m map[string]any, fallback int64, path ...string) int64 {
	if n, ok := object.Int64(m, path...); ok {
		return n
	}
	return fallback
}

func flag(m map[string]any, path ...string) bool {
	b, _ := object.Bool(m, path...)
	return b
}

func tree(m map[string]any, path ...string) map[string]any {
	t, _ := object.Map(m, path...)
	return t
}

func list(m map[string]any, path ...string) []any {
	l, _ := object.Slice(m, path...)
	return l
}

// trees returns the elements of a list that are maps.
func trees(m map[string]any, path ...string) []map[string]any {
	var found []map[string]any
	for _, v := range list(m, path...) {
		if t, ok := object.ToMap(v); ok {
			found = append(found, t)
		}
	}
	return found
}

func timeAt(m map[string]any, path ...string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339, text(m, path...))
	return t, err == nil
}

// stamp is a time as it stands in objects.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

func isTerminating(obj *unstructured.Unstructured) bool {
	return text(obj.Object, "metadata", "deletionTimestamp") != ""
}

func label(obj *unstructured.Unstructured, key string) string {
	return text(obj.Object, "metadata", "labels", key)
}

func annotation(obj *unstructured.Unstructured, key string) string {
	return text(obj.Object, "metadata", "annotations", key)
}

// scaled reads a number, or a percentage of a total that is rounded up or down. It is false if it is neither.
func scaled(v any, total int64, up bool) (int64, bool) {
	if n, ok := object.ToInt64(v); ok {
		return n, true
	}
	s, _ := v.(string)
	digits, percent := strings.CutSuffix(s, "%")
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || !percent {
		return 0, false
	}
	if up {
		return (n*total + 99) / 100, true
	}
	return n * total / 100, true
}

// byAge orders objects from the oldest to the newest, those of the same second by name.
func byAge(a, b *unstructured.Unstructured) int {
	return cmp.Or(
		cmp.Compare(text(a.Object, "metadata", "creationTimestamp"), text(b.Object, "metadata", "creationTimestamp")),
		cmp.Compare(a.GetName(), b.GetName()),
	)
}
