package stage

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/patch"
	"github.com/stagecraft-go/stagecraft/render"
)

// An edit changes one number, or one condition, of the object: an item of [PatchesExtension].
type edit struct {
	path        string // of the annotation in the Stage
	item        string // within it, such as [0].increment
	subresource string
	target      []any // names of fields and indexes of items; of the number, or of the list of conditions

	by        int64            // added to the number; 0 for a condition
	condition string           // the type
	template  *render.Template // of the fields of the condition
}

// patch returns the patch that makes the change to the object; nil without a change. A player sends
// the patch with the version of the object, so that it applies only to this state.
func (e *edit) patch(obj map[string]any, input render.Input) (Effect, error) {
	ops, err := e.operations(obj, input)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.item, err)
	}
	if len(ops) == 0 {
		return nil, nil
	}
	return Patch{Type: types.JSONPatchType, Subresource: e.subresource, Data: ops}, nil
}

func (e *edit) operations(obj map[string]any, input render.Input) ([]any, error) {
	before, err := lookUp(obj, e.target)
	if err != nil {
		return nil, err
	}
	if e.by != 0 {
		n, err := sum(before, e.by)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", printPath(e.target), err)
		}
		return assign(obj, e.target, n)
	}
	return e.editCondition(obj, before, input)
}

// sum adds to a number. A missing number counts as 0.
func sum(n any, by int64) (any, error) {
	switch n := n.(type) {
	case nil:
		return by, nil
	case int64:
		if by > 0 && n > math.MaxInt64-by || by < 0 && n < math.MinInt64-by {
			return nil, fmt.Errorf("%d is too large to add %d", n, by)
		}
		return n + by, nil
	case float64:
		return n + float64(by), nil
	}
	return nil, fmt.Errorf("want a number, got %s", encode(n))
}

// editCondition replaces the condition of a type in a list, or appends it.
func (e *edit) editCondition(obj map[string]any, before any, input render.Input) ([]any, error) {
	list, ok := before.([]any)
	if !ok && before != nil {
		return nil, fmt.Errorf("%s: want a list, got %s", printPath(e.target), encode(before))
	}
	fields, err := e.fields(input)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(list, func(c any) bool {
		fields, ok := c.(map[string]any)
		return ok && fields["type"] == e.condition
	})
	if at < 0 {
		added := changed(map[string]any{"type": e.condition}, fields, input.Now)
		if len(list) == 0 {
			return assign(obj, e.target, []any{added})
		}
		return []any{operation("add", pointer(e.target)+"/-", added)}, nil
	}
	old := list[at].(map[string]any)
	after := changed(old, fields, input.Now)
	if patch.Equal(old, after) {
		return nil, nil
	}
	return []any{operation("replace", pointer(e.target)+"/"+strconv.Itoa(at), after)}, nil
}

// fields renders the fields of the condition.
func (e *edit) fields(input render.Input) (map[string]any, error) {
	data, ok, err := e.template.Value(input)
	if err != nil {
		return nil, err
	}
	fields, isMap := data.(map[string]any)
	if !ok || !isMap {
		return nil, errors.New("want the template to give the fields of the condition, such as status")
	}
	if t, given := fields["type"]; given && t != e.condition {
		return nil, fmt.Errorf("the template gives the type %s to the condition %s", encode(t), e.condition)
	}
	return fields, nil
}

// changed returns a condition with some fields changed. If its status changes, lastTransitionTime
// is now, unless the fields give another time.
func changed(condition, fields map[string]any, now time.Time) map[string]any {
	after := maps.Clone(condition)
	maps.Copy(after, fields)
	maps.DeleteFunc(after, func(_ string, v any) bool { return v == nil })
	if _, given := fields["lastTransitionTime"]; !given && after["status"] != condition["status"] {
		after["lastTransitionTime"] = now.UTC().Format(time.RFC3339)
	}
	return after
}

// lookUp returns the value at a target; nil if it is missing. An item of a list must exist.
func lookUp(v any, target []any) (any, error) {
	for i, step := range target {
		if v == nil {
			return nil, nil
		}
		switch step := step.(type) {
		case string:
			m, ok := v.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("%s: want an object, got %s", printPath(target[:i]), encode(v))
			}
			v = m[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil, fmt.Errorf("%s: there is no item %d", printPath(target[:i]), step)
			}
			v = list[step]
		}
	}
	return v, nil
}

// assign sets a target, and creates missing objects around it.
func assign(obj map[string]any, target []any, value any) ([]any, error) {
	for i := range target {
		v, err := lookUp(obj, target[:i+1])
		if err != nil {
			return nil, err
		}
		if v != nil && i < len(target)-1 {
			continue
		}
		if value, err = nested(target[i+1:], value); err != nil {
			return nil, fmt.Errorf("%s: %w", printPath(target), err)
		}
		op := "add" // replaces a field, but would insert an item
		if _, isItem := target[i].(int); isItem {
			op = "replace"
		}
		return []any{operation(op, pointer(target[:i+1]), value)}, nil
	}
	return nil, nil
}

// nested puts a value into objects.
func nested(target []any, value any) (any, error) {
	for _, step := range slices.Backward(target) {
		name, ok := step.(string)
		if !ok {
			return nil, errors.New("there is no list")
		}
		value = map[string]any{name: value}
	}
	return value, nil
}

// pointer prints a target as a JSON pointer; printPath prints it as in a Stage.
func pointer(target []any) string {
	var s string
	for _, step := range target {
		s += "/" + pointerEscapes.Replace(fmt.Sprint(step))
	}
	return s
}

func printPath(target []any) string {
	var s string
	for _, step := range target {
		switch name, ok := step.(string); {
		case !ok:
			s += fmt.Sprintf("[%d]", step)
		case plainField.MatchString(name):
			s += "." + name
		default:
			s += fmt.Sprintf("[%q]", name)
		}
	}
	if s == "" {
		return "the object"
	}
	return s
}
