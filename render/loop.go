package render

import (
	"maps"
	"slices"
	"text/template/parse"
)

// A loop is a range at work. text/template ranges over as many nothings as there are passes, and at the beginning of each
// pass the first passage of the body takes the next element.
type loop struct {
	keys   []string // of a map
	values []any
	next   int
	passes []struct{}
}

// loop outlines a range.
func (o *outliner) loop(n *parse.RangeNode) []parse.Node {
	pipe, outer, at := n.Pipe, o.scope, o.outline.loops
	o.outline.loops++
	o.unknown = o.unknown || pipe.IsAssign
	list := o.pipe(pipe.Cmds[:len(pipe.Cmds)-1]) // without the counter, for which enter stands
	o.add(using(list, func(r *run, v any) bool { return r.enter(&r.loops[at], v) }))
	nodes := o.mark()
	otherwise := o.list(n.ElseList)
	key, value := o.slot(), o.slot()
	for i, id := range pipe.Decl {
		slot := [...]int{key, value}[i+2-len(pipe.Decl)]
		o.declare(variable{id.Ident[0], slot, true})
	}
	o.scope.dot = value
	body := o.list(n.List, func(r *run) bool {
		r.slots[key], r.slots[value] = r.loops[at].element()
		return true
	})
	o.scope = outer
	return append(nodes, &parse.RangeNode{BranchNode: decided(parse.NodeRange, body, otherwise)})
}

// enter begins a loop and pays for it. What is neither a map nor a list is left to text/template.
func (r *run) enter(l *loop, over any) bool {
	*l = loop{}
	switch over := over.(type) {
	case nil:
	case []any:
		l.values = over
	case []string:
		l.values = anys(over)
	case []int:
		l.values = anys(over)
	case map[string]any:
		l.keys = slices.Sorted(maps.Keys(over))
		for _, k := range l.keys {
			l.values = append(l.values, over[k])
		}
	default:
		return false
	}
	passes := 1
	if over != nil {
		passes = len(l.values)
	}
	l.passes = make([]struct{}, len(l.values))
	r.decision, r.decided = &l.passes, len(l.values)
	return r.spend(1+float64(passes)) == nil
}

func anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// element is the next one, with its key or index.
func (l *loop) element() (key, value any) {
	i := l.next
	l.next++
	if l.keys != nil {
		return l.keys[i], l.values[i]
	}
	return i, l.values[i]
}
