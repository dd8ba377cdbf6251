package features

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Options of [NewReport]. The zero value is the default.
type Options struct {
	// Trace is called at the first use of each row. Default: no call.
	Trace func(Use)
	// Controllers are the names of the controllers that run. The use of a kind whose controller
	// does not run is reported, because no program writes its status. Nil: all controllers run.
	Controllers []string
	// Played reports whether Stages write the status of a kind. Default: false for every kind.
	Played func(schema.GroupVersionKind) bool
}

// A Use says that objects ask for a feature that has no effect here.
type Use struct {
	Row
	Kind schema.GroupVersionKind
	// Count is the number of objects. First is the object that was seen first.
	Count int
	First types.NamespacedName
}

// String returns the use on one line.
func (u Use) String() string {
	objects := "1 object"
	if u.Count > 1 {
		objects = fmt.Sprintf("%d objects, first", u.Count)
	}
	return fmt.Sprintf("%s (%s %s)", u.What(), objects, strings.TrimPrefix(u.First.String(), "/"))
}

// What returns the text of the use without its objects.
func (u Use) What() string {
	return fmt.Sprintf("%s: not modelled: %s", strings.TrimSpace(u.Kind.Kind+" "+u.Path), u.Feature+u.also())
}

// Find returns what an object of a kind uses and has no effect: for each use Count is 1. It is safe
// for concurrent use.
func Find(kind schema.GroupVersionKind, obj *unstructured.Unstructured) (found []Use) {
	if isOfServer(obj) {
		return nil
	}
	for _, c := range reportedChecks()[kind] {
		if c.isUsed(obj.Object, c.path) {
			u := c.use
			u.Count, u.First = 1, types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
			found = append(found, u)
		}
	}
	return found
}

// reportedChecks are the checks of all rows, which Find does not change.
var reportedChecks = sync.OnceValue(func() map[schema.GroupVersionKind][]*check { return NewReport(Options{}).kinds })

// A Report collects uses.
type Report struct {
	options Options
	told    []func(Use)
	kinds   map[schema.GroupVersionKind][]*check
	order   []*check
}

// A check looks for the uses of a row.
type check struct {
	use  Use
	path []string
	seen map[types.UID]bool
}

// NewReport returns an empty report.
func NewReport(o Options) *Report {
	r := &Report{options: o, kinds: map[schema.GroupVersionKind][]*check{}}
	for _, k := range Kinds() {
		for _, row := range k.Rows {
			if row.State == Reported {
				r.add(k.GroupVersionKind, row)
			}
		}
		if o.Controllers != nil && k.Controller != "" && !slices.Contains(o.Controllers, k.Controller) && (o.Played == nil || !o.Played(k.GroupVersionKind)) {
			r.add(k.GroupVersionKind, Row{State: Reported, Feature: "its controller does not run: its status is empty, or invented by a stand-in"})
		}
	}
	return r
}

func (r *Report) add(kind schema.GroupVersionKind, row Row) {
	c := &check{use: Use{Row: row, Kind: kind}, seen: map[types.UID]bool{}}
	if row.Path != "" {
		c.path = strings.Split(row.Path, ".")
	}
	r.kinds[kind] = append(r.kinds[kind], c)
	r.order = append(r.order, c)
}

// Watch makes the report observe all its kinds. The argument is the method On of a simulation, or
// an equivalent.
func (r *Report) Watch(on func(schema.GroupVersionKind, func(context.Context, watch.Event) error) error) error {
	for _, k := range Kinds() {
		if len(r.kinds[k.GroupVersionKind]) == 0 {
			continue
		}
		err := on(k.GroupVersionKind, func(_ context.Context, e watch.Event) error {
			if obj, ok := e.Object.(*unstructured.Unstructured); ok && e.Type != watch.Deleted {
				r.Observe(k.GroupVersionKind, obj, e.Type == watch.Added)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Tell registers a function that is called at the first use of each row, in addition to
// Options.Trace.
func (r *Report) Tell(do func(Use)) { r.told = append(r.told, do) }

// Observe looks at an object that is new or has changed. A changed object of generation 1 is
// skipped, because its spec has not changed.
func (r *Report) Observe(kind schema.GroupVersionKind, obj *unstructured.Unstructured, isNew bool) {
	if !isNew && obj.GetGeneration() == 1 || isOfServer(obj) {
		return
	}
	for _, c := range r.kinds[kind] {
		if c.isUsed(obj.Object, c.path) {
			r.met(c, obj)
		}
	}
}

// isOfServer reports whether an object is one of those for fairness that an API server creates in
// each new cluster.
func isOfServer(obj *unstructured.Unstructured) bool {
	kind := obj.GetKind()
	return (kind == "FlowSchema" || kind == "PriorityLevelConfiguration") && obj.GetAnnotations()["apf.kubernetes.io/autoupdate-spec"] == "true"
}

// met counts an object once.
func (r *Report) met(c *check, obj *unstructured.Unstructured) {
	if c.seen[obj.GetUID()] {
		return
	}
	c.seen[obj.GetUID()] = true
	c.use.Count++
	if c.use.Count > 1 {
		return
	}
	c.use.First = types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if r.options.Trace != nil {
		r.options.Trace(c.use)
	}
	for _, tell := range r.told {
		tell(c.use)
	}
}

// Uses returns the uses so far, in the order of the table.
func (r *Report) Uses() (all []Use) {
	for _, c := range r.order {
		if c.use.Count > 0 {
			all = append(all, c.use)
		}
	}
	slices.SortStableFunc(all, func(a, b Use) int { return cmp.Compare(a.Kind.Kind, b.Kind.Kind) })
	return all
}

// isUsed reports whether a value has an effect at a path below it.
func (c *check) isUsed(v any, path []string) bool {
	if len(path) == 0 {
		return !isEmpty(v) && !slices.Contains(c.use.Unless, fmt.Sprint(v)) && (c.use.Only == nil || slices.Contains(c.use.Only, fmt.Sprint(v)))
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return false
	}
	name, isList := strings.CutSuffix(path[0], "[]")
	if !isList {
		return c.isUsed(fields[name], path[1:])
	}
	items, _ := fields[name].([]any)
	return slices.ContainsFunc(items, func(item any) bool { return c.isUsed(item, path[1:]) })
}

// isEmpty reports whether a value is that of a field that is not set.
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
	return false
}
