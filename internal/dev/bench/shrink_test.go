package bench

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// shrink leaves out parts of a case as long as the sides still disagree in the same way.
func shrink(c Case, m mismatch) Case {
	for again := true; again; {
		again = false
		for _, cut := range cuts(c) {
			if smaller, ok := cut(clone(c)); ok && disagrees(smaller, m) {
				c, again = smaller, true
				break
			}
		}
	}
	return c
}

func disagrees(c Case, m mismatch) bool {
	return slices.ContainsFunc(unexplained(c), func(n mismatch) bool {
		return n.aspect == m.aspect && (n.aspect != "refused" || reason(n.kwok) == reason(m.kwok) && reason(n.ours) == reason(m.ours))
	})
}

// reason is the last words of a refusal.
func reason(text string) string { return text[strings.LastIndex(text, ": ")+1:] }

func clone(c Case) Case {
	v := runtime.DeepCopyJSON(map[string]any{"stages": anys(c.Stages), "object": c.Object})
	copied := caseOf(v)
	copied.Lenient = c.Lenient
	return copied
}

func anys(stages []map[string]any) []any {
	var items []any
	for _, s := range stages {
		items = append(items, s)
	}
	return items
}

func caseOf(v map[string]any) Case {
	c := Case{Object: v["object"].(map[string]any)}
	stages, _ := v["stages"].([]any)
	for _, s := range stages {
		c.Stages = append(c.Stages, s.(map[string]any))
	}
	return c
}

// A cut leaves out one part.
type cut func(Case) (Case, bool)

func cuts(c Case) []cut {
	var found []cut
	for i := range c.Stages {
		found = append(found, func(c Case) (Case, bool) {
			c.Stages = slices.Delete(c.Stages, i, i+1)
			return c, len(c.Stages) > 0
		})
	}
	for i, s := range c.Stages {
		for _, path := range parts(s["spec"], nil) {
			found = append(found, func(c Case) (Case, bool) { return c, without(c.Stages[i]["spec"], path) })
		}
	}
	for _, path := range parts(c.Object, nil) {
		found = append(found, func(c Case) (Case, bool) { return c, without(c.Object, path) })
	}
	return found
}

// parts lists the paths below v, the large parts first.
func parts(v any, path []any) (paths [][]any) {
	var below [][]any
	visit := func(step, item any) {
		p := append(slices.Clone(path), step)
		paths = append(paths, p)
		below = append(below, parts(item, p)...)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, k := range sortedKeys(v) {
			if k != "apiVersion" && k != "kind" && k != "resourceRef" {
				visit(k, v[k])
			}
		}
	case []any:
		for i, item := range v {
			visit(i, item)
		}
	}
	return append(paths, below...)
}

// without deletes the value at a path. Items of lists become null, because a list cannot be changed
// in place.
func without(v any, path []any) bool {
	for _, step := range path[:len(path)-1] {
		v = at(v, step)
	}
	last := path[len(path)-1]
	switch v := v.(type) {
	case map[string]any:
		delete(v, last.(string))
		return true
	default:
		return false
	}
}

func at(v, step any) any {
	switch v := v.(type) {
	case map[string]any:
		return v[step.(string)]
	case []any:
		return v[step.(int)]
	default:
		return nil
	}
}
