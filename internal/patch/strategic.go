package patch

import (
	"errors"
	"fmt"
	"strings"
)

const (
	markPatch    = "$patch"
	markRetain   = "$retainKeys"
	prefixOrder  = "$setElementOrder/"
	prefixDelete = "$deleteFromPrimitiveList/"
)

var errRetain = errors.New(markRetain + " must be a list that names every field of the patch")

// Strategic applies a strategic merge patch by the rules of s. It supports $patch: replace and
// delete, $retainKeys, $setElementOrder/… and $deleteFromPrimitiveList/…. Errors are of type
// [Error] and name the field.
func Strategic(s Schema, target, patch map[string]any) (map[string]any, error) {
	merged, _, err := s.object(target, patch)
	return merged, err
}

// object also reports whether the result is another one than the target.
func (s Schema) object(target, patch map[string]any) (_ map[string]any, changed bool, _ error) {
	d := directivesOf(patch)
	if !d.any {
		if covers, changed := coversWhole(target, patch); covers && changed {
			return patch, true, nil
		} else if covers {
			return target, false, nil
		}
		out := draft{m: target}
		err := s.fields(&out, patch, d)
		return out.m, out.owned, err
	}
	merged, err := s.byDirectives(target, patch, d)
	if err == nil && equalMaps(target, merged) {
		return target, false, nil
	}
	return merged, true, err
}

// coversWhole reports whether a patch without directives has all fields of a target, and only scalars: then
// it is the result itself, without a copy. Conditions that are renewed are like that. It also reports
// whether the result differs from the target.
func coversWhole(target, patch map[string]any) (covers, changed bool) {
	if len(target) == 0 || len(patch) < len(target) {
		return false, false
	}
	known := 0
	for name, v := range patch {
		old, has := target[name]
		if has {
			known++
		}
		switch v.(type) {
		case string, bool, int64, float64:
		default:
			return false, false
		}
		switch equal := has && equalScalars(old, v); {
		case !equal:
			changed = true
		case old != v:
			return false, false // the target keeps its form of a number
		}
	}
	return known == len(target), changed
}

func (s Schema) byDirectives(target, patch map[string]any, d directives) (map[string]any, error) {
	if directive, ok := patch[markPatch]; ok {
		return directed(directive, patch)
	}
	out := draft{m: target}
	if err := s.begin(&out, patch, d); err != nil {
		return nil, err
	}
	err := s.fields(&out, patch, d)
	return out.m, err
}

// fields merges members that are not directives. It creates a missing map.
func (s Schema) fields(out *draft, patch map[string]any, d directives) error {
	rules := types[s.typ]
	for name, v := range patch {
		if d.any && d.covers(name) {
			continue
		}
		if err := rules[name].set(out, name, v); err != nil {
			return within(name, err)
		}
	}
	if out.m == nil {
		out.own()
	}
	return nil
}

// begin does what comes before the fields of the patch.
func (s Schema) begin(out *draft, patch map[string]any, d directives) error {
	if d.retain {
		if err := retainKeys(out, patch); err != nil {
			return err
		}
	}
	return s.lists(out, patch, d)
}

// directed is the result of a map that carries $patch: the map alone, or nothing.
func directed(directive any, patch map[string]any) (map[string]any, error) {
	switch directive {
	case "delete":
		return map[string]any{}, nil
	case "replace":
		alone := draft{m: patch}
		alone.remove(markPatch)
		rest, _ := withoutDirectives.object(alone.m)
		return rest, nil
	default:
		return nil, &Error{Op: -1, Path: markPatch, Err: fmt.Errorf("unknown directive %v", directive)}
	}
}

// directives of one map, by the field they are for. Most maps have none.
type directives struct {
	any               bool
	retain            bool
	orders, deletions map[string]any
}

func directivesOf(patch map[string]any) (d directives) {
	for name, v := range patch {
		if !isDirective(name) {
			continue
		}
		d.any = true
		if name == markRetain {
			d.retain = true
		} else if field, ok := strings.CutPrefix(name, prefixOrder); ok {
			d.orders = with(d.orders, field, v)
		} else if field, ok := strings.CutPrefix(name, prefixDelete); ok {
			d.deletions = with(d.deletions, field, v)
		}
	}
	return d
}

// covers reports whether a member is a directive, or a list that was merged with its order.
func (d directives) covers(name string) bool {
	_, done := d.orders[name]
	return done || isDirective(name)
}

func with(m map[string]any, key string, v any) map[string]any {
	if m == nil {
		m = map[string]any{}
	}
	m[key] = v
	return m
}

func isDirective(name string) bool {
	return name != "" && name[0] == '$' &&
		(name == markPatch || name == markRetain || strings.HasPrefix(name, prefixOrder) || strings.HasPrefix(name, prefixDelete))
}

// retainKeys removes the fields that the patch does not retain.
func retainKeys(out *draft, patch map[string]any) error {
	retained, ok := patch[markRetain].([]any)
	if !ok {
		return &Error{Op: -1, Path: markRetain, Err: errRetain}
	}
	keep := make(map[any]bool, len(retained))
	for _, name := range retained {
		if name, ok := name.(string); ok {
			keep[name] = true
		}
	}
	for name, v := range patch {
		if v != nil && !isDirective(name) && !keep[name] {
			return &Error{Op: -1, Path: markRetain, Err: errRetain}
		}
	}
	for name := range out.m {
		if !keep[name] {
			out.remove(name)
		}
	}
	return nil
}

// lists applies the orders, with the lists they belong to, and then the deletions.
func (s Schema) lists(out *draft, patch map[string]any, d directives) error {
	for name, order := range d.orders {
		if err := s.ordered(out, name, order, patch); err != nil {
			return within(name, err)
		}
	}
	for name, v := range d.deletions {
		if err := deleteFrom(out, name, v); err != nil {
			return within(name, err)
		}
	}
	return nil
}

// set merges one field of the patch into out.
func (r rule) set(out *draft, name string, v any) error {
	if v == nil {
		out.remove(name)
		return nil
	}
	old, has := out.m[name]
	merged, changed, err := r.value(old, v)
	switch {
	case err != nil:
		return err
	case merged == nil:
		out.remove(name)
	case !has || changed:
		out.own()
		out.m[name] = merged
	}
	return nil
}

// value is the merged value of a field, nil for none, and whether it is another one than the old.
func (r rule) value(old, v any) (merged any, changed bool, err error) {
	switch v := v.(type) {
	case map[string]any:
		if old, ok := old.(map[string]any); ok && r.strategy != replacing {
			return Schema{r.typ}.object(old, v)
		}
	case []any:
		if old, ok := old.([]any); ok && r.strategy == merging {
			return Schema{r.typ}.list(old, v, r.key)
		}
	}
	if marked(v) {
		return nil, true, nil
	}
	merged = withoutDirectives.of(v)
	return merged, !Equal(old, merged), nil
}

func marked(v any) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	_, ok = m[markPatch]
	return ok
}

// within puts a field name before the path of a fault, or makes a fault of it.
func within(name string, err error) error {
	var fault *Error
	if errors.As(err, &fault) {
		return &Error{Op: -1, Path: name + "." + fault.Path, Err: fault.Err}
	}
	return &Error{Op: -1, Path: name, Err: err}
}
