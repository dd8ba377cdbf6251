package jq

import "github.com/itchyny/gojq"

// An update is one evaluation of l |= f.
type update struct {
	whole  any   // before
	values []any // that were put into it
	gone   bool  // a place was deleted, so that the whole value is gone through
}

// A special is a guard with a result of its own.
type special func(b *budget, input any, args []any) (cost int, out any)

// specials are the guards of updates.
var specials = map[string]special{
	"__match": func(b *budget, x any, args []any) (int, any) { return matched(b, x, args), x },
	"__update": func(b *budget, x any, args []any) (int, any) {
		return pathCost(b, x, args[0]) + inserted(args[0], args[1]), args
	},
	"__numbers": func(_ *budget, _ any, args []any) (int, any) {
		return unlessNumber(args[0]) + unlessNumber(args[1]) + unlessNumber(args[2]), args
	},
	"__begin": func(_ *budget, x any, _ []any) (int, any) { return elementSize, &update{whole: x} },
	"__kept": func(b *budget, x any, args []any) (int, any) {
		u := args[0].(*update)
		n := elementSize
		if list, ok := x.([]any); ok {
			n += times(elementSize, len(list)) // copied into a slice
		}
		if u.gone {
			return n + deepSize(x, b.size), x
		}
		u.values = append(u.values, x)
		return n, x
	},
	"__gone": func(b *budget, x any, args []any) (int, any) {
		u := args[0].(*update)
		if u.gone {
			return elementSize, x
		}
		u.gone = true
		return deepSize(u.whole, b.size) + deepSize(u.values, b.size), x
	},
}

// pathCost returns the cost of setting the path y in x, which copies, or fills with null up to the
// index.
func pathCost(_ *budget, x, y any) int {
	path, _ := y.([]any)
	whole, n := x, shallowSize(y)
	for _, key := range path {
		if !hasPart(x, key) {
			return n + previewSize(whole) + previewSize(y)
		}
		n = min(n+shallowSize(x)+textSize(key), 1<<50)
		list, _ := x.([]any)
		if i, ok := gojq.ToInt(key); ok {
			n += times(elementSize, max(0, i-len(list)))
		}
		x = elementOf(x, key)
	}
	return n
}

// inserted is the cost of putting a list v at a path that has a part of a list in it.
func inserted(path, v any) int {
	list, _ := v.([]any)
	keys, _ := path.([]any)
	for _, key := range keys {
		if _, isPart := key.(map[string]any); isPart {
			return times(elementSize, len(list))
		}
	}
	return 0
}

// deleted is the cost of x | delpaths(y), which sorts the paths, and then goes through the whole
// value. A path with a part of a list marks each of its elements.
func deleted(b *budget, x, y any) int {
	n := deepSize(x, b.size)
	paths, _ := y.([]any)
	parts := 1
	for _, path := range paths {
		keys, _ := path.([]any)
		for _, key := range keys {
			if _, isPart := key.(map[string]any); isPart {
				parts++
			}
		}
	}
	return times(parts, n) + times(8, deepSize(y, b.size))
}

// guards are the functions that charge. Each takes the budget as its first argument. A guard
// without further arguments returns its input, a guard with a second argument returns this
// argument, and a guard with three arguments returns the list of the second and third, which are
// operands. So a guard does not change the result of its program. The budget is first because gojq
// computes arguments from the last to the first, and its optimized code (such as `if . then 1 else
// 2 end | 3`) can leave an extra value on the stack, below the next ones.
func guards() []gojq.CompilerOption {
	options := []gojq.CompilerOption{gojq.WithVariables([]string{"$__budget", "$__now"})}
	for name, c := range costs {
		options = append(options, gojq.WithFunction(name, 1, 3, charging(c)))
	}
	for name, s := range specials {
		options = append(options, gojq.WithFunction(name, 1, 4, s.charging))
	}
	return options
}

func charging(c cost) func(any, []any) any {
	return func(input any, args []any) any {
		b, x, y, out := args[0].(*budget), input, any(nil), input
		switch len(args) {
		case 2:
			y, out = args[1], args[1]
		case 3:
			x, y, out = args[1], args[2], []any{args[1], args[2]}
		}
		if err := b.charge(c(b, x, y)); err != nil {
			return err
		}
		return out
	}
}

func (s special) charging(input any, args []any) any {
	b := args[0].(*budget)
	rest := append([]any(nil), args[1:]...) // gojq uses args again
	n, out := s(b, input, rest)
	if err := b.charge(n); err != nil {
		return err
	}
	return out
}
