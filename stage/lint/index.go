package lint

import (
	"cmp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// A stageIndex finds the Stages that can match an object without evaluating all. It holds each
// Stage by the first of its requirements that wants a text, or any value, at a path of fields.
type stageIndex struct {
	byValue map[indexKey][]*checkedStage
	byPath  map[string][]*checkedStage // of byValue, for objects with something other than text there
	exists  map[string][]*checkedStage
	always  []*checkedStage // the Stages without such a requirement
}

// An indexKey is a path in its canonical form, and a text there.
type indexKey struct{ path, text string }

func newStageIndex(stages []*checkedStage) *stageIndex {
	x := &stageIndex{byValue: map[indexKey][]*checkedStage{}, byPath: map[string][]*checkedStage{}, exists: map[string][]*checkedStage{}}
	for _, s := range stages {
		at := slices.IndexFunc(s.requirements, requirement.isPresence)
		if at < 0 {
			x.always = append(x.always, s)
			continue
		}
		r := s.requirements[at]
		if r.operator == v1alpha1.SelectorOpExists {
			x.exists[r.key] = append(x.exists[r.key], s)
			continue
		}
		x.byPath[r.key] = append(x.byPath[r.key], s)
		for _, v := range slices.Compact(slices.Sorted(slices.Values(r.values))) {
			x.byValue[indexKey{r.key, v}] = append(x.byValue[indexKey{r.key, v}], s)
		}
	}
	return x
}

// isPresence reports whether a requirement holds only for objects with something at its path, which
// goes through fields alone.
func (r requirement) isPresence() bool {
	fields := len(r.path) > 0 && !slices.ContainsFunc(r.path, func(s step) bool { return s.field == "" })
	return fields && (r.operator == v1alpha1.SelectorOpIn || r.operator == v1alpha1.SelectorOpExists)
}

// A selection is Stages in several lists.
type selection [][]*checkedStage

func (l selection) size() (n int) {
	for _, part := range l {
		n += len(part)
	}
	return n
}

func (l selection) with(part []*checkedStage) selection {
	if len(part) == 0 {
		return l
	}
	return append(l, part)
}

// sorted are the Stages in their order.
func (l selection) sorted() []*checkedStage {
	list := slices.Concat(l...)
	slices.SortFunc(list, func(a, b *checkedStage) int { return cmp.Compare(a.order, b.order) })
	return list
}

// possible are the Stages that may match an object.
func (x *stageIndex) possible(obj *unstructured.Unstructured) selection {
	return x.appendAt(selection{x.always}, "", obj.Object)
}

// appendAt appends the Stages that want something at a path, given in its canonical form, or below
// it.
func (x *stageIndex) appendAt(list selection, key string, v any) selection {
	list = list.with(x.exists[key])
	if text, ok := v.(string); ok {
		return list.with(x.byValue[indexKey{key, text}])
	}
	list = list.with(x.byPath[key])
	if m, ok := v.(map[string]any); ok {
		for name, field := range m {
			list = x.appendAt(list, key+"."+strconv.Quote(name), field)
		}
	}
	return list
}
