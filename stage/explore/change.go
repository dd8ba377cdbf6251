package explore

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/printable"
	"github.com/stagecraft-go/stagecraft/stage"
)

// A Change is a field in which two States differ.
type Change struct {
	Key stage.Key // of the object
	// Path is the path of the field, such as .status.conditions[Ready].status; "" if the object
	// itself was created or removed. Elements of lists are named by their type or name, or else by
	// their index.
	Path string
	// Before and After are JSON values; nil for a missing field. Times and IP addresses are
	// replaced by <time> and <address>.
	Before, After any
}

// String prints `.status.phase: Pending → Running`, or the kind and whether the object was created
// or is gone.
func (c Change) String() string { return printable.Text(c.text()) }

func (c Change) text() string {
	switch {
	case c.Path == "" && c.Before == nil:
		return c.Key.Kind + " created"
	case c.Path == "":
		return c.Key.Kind + " gone"
	case c.Before == nil:
		return c.Path + ": " + shortValue(c.After)
	case c.After == nil:
		return c.Path + ": " + shortValue(c.Before) + " → nothing"
	}
	return fmt.Sprintf("%s: %s → %s", c.Path, shortValue(c.Before), shortValue(c.After))
}

// shortValue prints a value on one line of at most 60 characters.
func shortValue(v any) string {
	s, isText := v.(string)
	if !isText || s == "" {
		s = object.Readable(v)
	}
	if runes := []rune(s); len(runes) > 60 {
		s = string(runes[:59]) + "…"
	}
	return s
}

// changes lists the differences between the objects of two States.
func changes(before, after []memberObject) (all []Change) {
	had, has := byKey(before), byKey(after)
	compared := map[stage.Key]bool{}
	for _, m := range append(before[:len(before):len(before)], after...) {
		if compared[m.key] || had[m.key].obj == has[m.key].obj {
			continue
		}
		compared[m.key] = true
		d := comparison{key: m.key}
		was, is := had[m.key].normal(), has[m.key].normal()
		if was == nil || is == nil {
			d.add("", was, is)
		} else {
			d.compare("", was, is)
		}
		all = append(all, d.changes...)
	}
	return all
}

func byKey(members []memberObject) map[stage.Key]memberObject {
	result := make(map[stage.Key]memberObject, len(members))
	for _, m := range members {
		result[m.key] = m
	}
	return result
}

// A comparison collects the differences of one object.
type comparison struct {
	key     stage.Key
	changes []Change
}

func (d *comparison) add(path string, before, after any) {
	if before != nil || after != nil {
		d.changes = append(d.changes, Change{d.key, path, before, after})
	}
}

// compare descends as long as both values are maps or both are lists.
func (d *comparison) compare(path string, before, after any) {
	b, wasMap := before.(map[string]any)
	a, isMap := after.(map[string]any)
	bl, wasList := before.([]any)
	al, isList := after.([]any)
	switch {
	case wasMap && isMap:
		d.fields(path, b, a)
	case wasList && isList:
		d.fields(path, byName(bl), byName(al))
	case !object.DeepEqual(before, after):
		d.add(path, before, after)
	}
}

func (d *comparison) fields(path string, before, after map[string]any) {
	names := map[string]bool{}
	for k := range before {
		names[k] = true
	}
	for k := range after {
		names[k] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		step := "." + name
		if name[:min(1, len(name))] == "[" {
			step = name
		}
		d.compare(path+step, before[name], after[name])
	}
}

// byName makes a map of a list: by the type or name of its elements if all have one and no two have
// the same, or else by index.
func byName(list []any) map[string]any {
	result := make(map[string]any, len(list))
	for _, item := range list {
		m, _ := item.(map[string]any)
		name, ok := object.String(m, "type")
		if !ok {
			name, ok = object.String(m, "name")
		}
		name = "[" + name + "]"
		if _, twice := result[name]; !ok || twice {
			return byIndex(list)
		}
		result[name] = item
	}
	return result
}

func byIndex(list []any) map[string]any {
	result := make(map[string]any, len(list))
	for i, item := range list {
		result["["+strconv.Itoa(i)+"]"] = item
	}
	return result
}
