package stage

import (
	"slices"
	"strconv"
)

// finalizers is a change of metadata.finalizers.
type finalizers struct {
	add, remove []string
	empty       bool
}

const finalizersPath = "/metadata/finalizers"

// edit returns the JSON patch that changes the list, and the changed list. Without a change it
// returns no operations.
//
// The operations are the same as kwok's. The patch removes items by descending index, and then adds
// others. If no item is kept, the patch removes the whole list.
func (f *finalizers) edit(list []string) (ops []any, after []string) {
	kept := f.kept(list)
	missing := f.missing(kept)
	after = append(slices.Clone(kept), missing...)
	if slices.Equal(list, after) {
		return nil, list
	}
	if len(kept) > 0 {
		return append(removals(list, kept), additions(missing)...), after
	}
	if len(list) > 0 {
		ops = append(ops, operation("remove", finalizersPath, nil))
	}
	if len(missing) > 0 {
		ops = append(ops, operation("add", finalizersPath, anys(missing)))
	}
	return ops, after
}

func removals(list, kept []string) (ops []any) {
	for i, name := range slices.Backward(list) {
		if !slices.Contains(kept, name) {
			ops = append(ops, operation("remove", finalizersPath+"/"+strconv.Itoa(i), nil))
		}
	}
	return ops
}

func additions(names []string) (ops []any) {
	for _, name := range names {
		ops = append(ops, operation("add", finalizersPath+"/-", name))
	}
	return ops
}

// kept returns the items that stay in the list. A finalizer that is both removed and added stays.
func (f *finalizers) kept(list []string) []string {
	if f.empty {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(list), func(name string) bool {
		return slices.Contains(f.remove, name) && !slices.Contains(f.add, name)
	})
}

// missing returns the finalizers to add, without duplicates and without items that the list has.
func (f *finalizers) missing(list []string) []string {
	var names []string
	for _, name := range f.add {
		if !slices.Contains(list, name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func operation(op, path string, value any) map[string]any {
	m := map[string]any{"op": op, "path": path}
	if value != nil {
		m["value"] = value
	}
	return m
}

func anys(list []string) []any {
	items := make([]any, len(list))
	for i, s := range list {
		items[i] = s
	}
	return items
}
