package render

import (
	"cmp"
	"slices"
)

// A native is a function as expressions call it.
type native struct {
	min, max int // arguments
	call     func(r *run, args []any) (any, bool)
}

const many = 1 << 10

// natives are the functions in which the templates of Pods and Nodes spend their time.
var natives = map[string]native{
	"Now":            {0, 0, func(r *run, _ []any) (any, bool) { return r.now(), true }},
	"NodeConditions": {0, 0, func(r *run, _ []any) (any, bool) { return certain(r.nodeConditions()) }},
	"NodeIP":         {0, 0, func(r *run, _ []any) (any, bool) { return certain(r.nodeIP("")) }},
	"NodeIPWith":     {1, 1, nodeIPWith((*run).nodeIP)},
	"NodeIPsWith":    {1, 1, nodeIPWith((*run).nodeIPs)},
	"PodIPWith":      {5, 5, podIPWith((*run).podIPWith)},
	"PodIPsWith":     {5, 5, podIPWith((*run).podIPsWith)},
	"Quote":          {1, 1, func(r *run, args []any) (any, bool) { return certain(r.quote(args[0])) }},
	"YAML":           {1, many, func(r *run, args []any) (any, bool) { return certain(r.yaml(args[0], args[1:]...)) }},
	"printf":         {1, many, printf},
	"default":        {1, 2, orDefault},
	"list":           {1, many, list},
	"index":          {2, many, index},
	"len":            {1, 1, count},
	"not":            {1, 1, not},
	"eq":             {2, many, equalsOne},
	"ne":             {2, 2, func(_ *run, args []any) (any, bool) { same, ok := equal(args[0], args[1]); return !same, ok }},
	"lt":             {2, 2, ordering(func(order int) bool { return order < 0 })},
	"le":             {2, 2, ordering(func(order int) bool { return order <= 0 })},
	"gt":             {2, 2, ordering(func(order int) bool { return order > 0 })},
	"ge":             {2, 2, ordering(func(order int) bool { return order >= 0 })},
	weighFunc:        {1, 1, func(r *run, args []any) (any, bool) { return r.weighed(args[0]) }},
}

// called is nil for a call with arguments that the function does not take. A piped argument is the last.
func (fn native) called(args []expression, final expression) expression {
	piped := final != nil
	if piped {
		args = append(args, final)
	}
	if hasNil(args) || len(args) < fn.min || len(args) > fn.max {
		return nil
	}
	if !piped {
		return fn.on(args)
	}
	return fn.piped(args)
}

// on collects the arguments on the stack of the run, because those in a slice of its own would be allocated.
func (fn native) on(args []expression) expression {
	return func(r *run) (any, bool) {
		base := r.push(len(args))
		for i, arg := range args {
			v, ok := arg(r)
			if !ok {
				return nil, false
			}
			r.stack[base+i] = v
		}
		v, ok := fn.call(r, r.stack[base:])
		r.stack = r.stack[:base]
		return v, ok
	}
}

// piped computes the last argument before all others.
func (fn native) piped(args []expression) expression {
	last := len(args) - 1
	final := args[last]
	return func(r *run) (any, bool) {
		base := r.push(len(args))
		v, ok := final(r)
		if !ok {
			return nil, false
		}
		r.stack[base+last] = v
		for i, arg := range args[:last] {
			if v, ok = arg(r); !ok {
				return nil, false
			}
			r.stack[base+i] = v
		}
		v, ok = fn.call(r, r.stack[base:])
		r.stack = r.stack[:base]
		return v, ok
	}
}

// push makes room for so many arguments and returns where.
func (r *run) push(n int) (base int) {
	base = len(r.stack)
	r.stack = slices.Grow(r.stack, n)[:base+n]
	return base
}

func certain[T any](v T, err error) (any, bool) { return v, err == nil }

func nodeIPWith[T any](ask func(r *run, node string) (T, error)) func(r *run, args []any) (any, bool) {
	return func(r *run, args []any) (any, bool) {
		node, ok := args[0].(string)
		if !ok {
			return nil, false
		}
		return certain(ask(r, node))
	}
}

func podIPWith[T any](ask func(r *run, node string, hostNetwork bool, uid, name, namespace string) (T, error)) func(r *run, args []any) (any, bool) {
	return func(r *run, args []any) (any, bool) {
		node, isText := args[0].(string)
		hostNetwork, isBool := args[1].(bool)
		if !isText || !isBool {
			return nil, false
		}
		var id [3]string // uid, name and namespace
		for i := range id {
			var ok bool
			if id[i], ok = args[2+i].(string); !ok {
				return nil, false
			}
		}
		return certain(ask(r, node, hostNetwork, id[0], id[1], id[2]))
	}
}

func printf(r *run, args []any) (any, bool) {
	format, ok := args[0].(string)
	if !ok {
		return nil, false
	}
	return certain(r.printf(format, slices.Clone(args[1:])...))
}

// orDefault is the second argument, or the first if that is empty, as a text, a list and zero can be.
func orDefault(r *run, args []any) (any, bool) {
	given := args[1:]
	if r.spend(1+(top(args[0])+top(given))/bytesPerStep) != nil {
		return nil, false
	}
	if len(given) == 0 {
		return args[0], true
	}
	full, known := truth(given[0])
	if full {
		return given[0], known
	}
	return args[0], known
}

// list pays for its arguments and its result, which are the same.
func list(r *run, args []any) (any, bool) {
	v := slices.Clone(args)
	return v, r.weigh(v, 0) == nil && r.weigh(v, 0) == nil
}

func index(_ *run, args []any) (any, bool) {
	v := args[0]
	for _, at := range args[1:] {
		var ok bool
		if v, ok = element(v, at); !ok {
			return nil, false
		}
	}
	return v, true
}

// element is nil for a key that is not there.
func element(v, at any) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		key, ok := at.(string)
		return v[key], ok
	case []any:
		if i, ok := at.(int); ok && i >= 0 && i < len(v) {
			return v[i], true
		}
	case []string:
		if i, ok := at.(int); ok && i >= 0 && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}

func count(_ *run, args []any) (any, bool) {
	switch v := args[0].(type) {
	case string:
		return len(v), true
	case []any:
		return len(v), true
	case []string:
		return len(v), true
	case map[string]any:
		return len(v), true
	}
	return nil, false
}

func not(_ *run, args []any) (any, bool) {
	yes, known := truth(args[0])
	return !yes, known
}

// equalsOne is whether the first argument equals one of the others.
func equalsOne(_ *run, args []any) (any, bool) {
	for _, other := range args[1:] {
		if same, ok := equal(args[0], other); same || !ok {
			return same, ok
		}
	}
	return false, true
}

// equal compares two texts, two truths or two whole numbers; null is equal to none of those.
func equal(a, b any) (same, ok bool) {
	if a == nil || b == nil {
		return a == b, isBasic(a) && isBasic(b)
	}
	if a, ok := a.(bool); ok {
		b, ok := b.(bool)
		return a == b, ok
	}
	order, ok := compare(a, b)
	return order == 0, ok
}

func isBasic(v any) bool {
	switch v.(type) {
	case nil, bool, string, int, int64:
		return true
	}
	return false
}

func ordering(wanted func(order int) bool) func(r *run, args []any) (any, bool) {
	return func(_ *run, args []any) (any, bool) {
		order, ok := compare(args[0], args[1])
		return wanted(order), ok
	}
}

// compare returns false for what are not two texts or two whole numbers.
func compare(a, b any) (order int, ok bool) {
	if a, ok := a.(string); ok {
		b, ok := b.(string)
		return cmp.Compare(a, b), ok
	}
	x, isInt := integer(a)
	y, bothInt := integer(b)
	return cmp.Compare(x, y), isInt && bothInt
}

func integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int64:
		return v, true
	}
	return 0, false
}
