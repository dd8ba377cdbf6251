package kstatustest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// T has the methods of *testing.T that [RequireCurrent] needs. GinkgoT() of Ginkgo has them too.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
}

// RequireCurrent fails a test unless an object is [Current]; see [Check].
func RequireCurrent(t T, obj runtime.Object) {
	t.Helper()
	if err := Check(obj); err != nil {
		t.Fatalf("%v", err)
	}
}

// Check returns nil if an object is [Current] in both profiles of package kstatus. The error has a
// line for each verdict, and for each field that its controller would have written differently.
func Check(obj runtime.Object) error {
	fields, kind, err := open(obj)
	if err != nil {
		return err
	}
	d := newDraft(fields, Options{})
	verdicts := d.verdicts()
	if len(verdicts) == 0 {
		return nil
	}
	lines := append([]string{describe(fields, kind) + " is not Current"}, verdicts...)
	if err := d.write(kind, Current); err != nil {
		return fmt.Errorf("%s\n%w", strings.Join(lines, "\n"), err)
	}
	lines = append(lines, "against what its controller would have written:")
	for _, path := range []string{"metadata", "spec", "status"} {
		lines = appendDifferences(lines, path, fields[path], d.fields[path])
	}
	return fmt.Errorf("%s", strings.Join(lines, "\n  "))
}

// verdicts returns the verdicts of the profiles in which the object is not Current.
func (d *draft) verdicts() []string {
	var out []string
	obj := &unstructured.Unstructured{Object: d.fields}
	profiles := bothProfiles()
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(profiles))) {
		if r := profiles[name].Compute(obj, d.time); string(r.Status) != string(Current) {
			out = append(out, fmt.Sprintf("%s profile: %s (%s)", name, r, r.Field()))
		}
	}
	return out
}

// appendDifferences compares the value at a path with the wanted one. Any time and any message is
// accepted, and 0 is equal to a missing value.
func appendDifferences(lines []string, path string, has, wants any) []string {
	if isFree(path) && has != nil || wants == madeUp || object.DeepEqual(has, wants) || wants == nil && isZero(has) {
		return lines
	}
	if list, name := named(wants); name != "" {
		old, _ := object.ToSlice(has)
		for _, item := range list {
			key := item.(map[string]any)[name]
			lines = appendDifferences(lines, fmt.Sprintf("%s[%s=%q]", path, name, key), asAny(find(old, name, key)), item)
		}
		return lines
	}
	if has == nil && strings.Contains(path, ".") {
		return append(lines, path+": missing: "+show(withoutMadeUp(wants)))
	}
	if m, ok := object.ToMap(wants); ok {
		old, _ := object.ToMap(has)
		for _, key := range keysOf(old, m) {
			lines = appendDifferences(lines, path+"."+key, old[key], m[key])
		}
		return lines
	}
	return append(lines, fmt.Sprintf("%s: %s, should be %s", path, show(has), show(wants)))
}

// withoutMadeUp returns a condition without a reason that no controller would have written.
func withoutMadeUp(v any) any {
	c, _ := object.ToMap(v)
	if c["reason"] != madeUp {
		return v
	}
	c = maps.Clone(c)
	delete(c, "reason")
	return c
}

func isZero(v any) bool {
	n, isNumber := object.ToInt64(v)
	return isNumber && n == 0
}

func asAny(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}

func isFree(path string) bool {
	return strings.HasSuffix(path, "Time") || strings.HasSuffix(path, "edAt") || strings.HasSuffix(path, ".message")
}

// keysOf returns the keys of two maps in order.
func keysOf(a, b map[string]any) []string {
	all := maps.Clone(b)
	maps.Copy(all, a)
	return slices.Sorted(maps.Keys(all))
}

// named returns a list of maps and the key that names its elements, "" without one.
func named(v any) ([]any, string) {
	list, _ := object.ToSlice(v)
	for _, key := range []string{"type", "name"} {
		unnamed := func(item any) bool { m, _ := object.ToMap(item); return m[key] == nil }
		if len(list) > 0 && !slices.ContainsFunc(list, unnamed) {
			return list, key
		}
	}
	return nil, ""
}

func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return fmt.Sprintf("%q", v)
	}
	text, err := object.AppendJSON(nil, v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
