package jq

import (
	"math"

	"github.com/itchyny/gojq"
)

// A cost says how much one call works and builds, at most, as charged to the budget before the call.
type cost func(b *budget, x, y any) int

// operands are the costs of the binary operators, by the name of the function that charges them.
var operands = map[gojq.Operator]struct {
	name string
	cost cost
}{
	gojq.OpAdd: {"__add", func(_ *budget, l, r any) int { return shallowSize(l) + shallowSize(r) }},
	gojq.OpSub: {"__subtract", product},
	gojq.OpMul: {"__multiply", multiplied},
	gojq.OpDiv: {"__divide", func(b *budget, l, r any) int { return times(8, bothDeep(b, l, r)) }},
	gojq.OpMod: {"__modulo", func(_ *budget, l, r any) int { return shallowSize(l) + shallowSize(r) }},
	gojq.OpEq:  {"__compare", sameKind},
	gojq.OpNe:  {"__compare", sameKind},
	gojq.OpLt:  {"__compare", sameKind},
	gojq.OpLe:  {"__compare", sameKind},
	gojq.OpGt:  {"__compare", sameKind},
	gojq.OpGe:  {"__compare", sameKind},
}

// inputs are the costs of functions, by input and argument (nil if they have none).
var inputs = map[string]cost{
	"__shallow": func(_ *budget, x, y any) int { return shallowSize(x) + shallowSize(y) },
	"__deep":    bothDeep,
	"__wide":    func(b *budget, x, y any) int { return times(256, bothDeep(b, nil, y)) },
	"__parse":   func(_ *budget, x, _ any) int { return times(32, shallowSize(x)) },
	"__square":  func(_ *budget, x, _ any) int { return shallowSize(x) + times(shallowSize(x), shallowSize(x))/4 },
	"__digits":  func(_ *budget, x, _ any) int { return shallowSize(x) + times(shallowSize(x), shallowSize(x))/64 },
	"__product": product,
	"__join":    joined,
	"__grid":    grid,
	"__path":    pathCost,
	"__event":   func(b *budget, _, y any) int { return eventCost(b, y) },
}

func bothDeep(b *budget, x, y any) int { return deepSize(x, b.size) + deepSize(y, b.size) }

func product(b *budget, x, y any) int {
	n, m := deepSize(x, b.size), deepSize(y, b.size)
	return n + m + times(n, m)/64
}

func sameKind(b *budget, l, r any) int {
	switch x := l.(type) {
	case string:
		if y, ok := r.(string); ok {
			return elementSize + min(len(x), len(y))
		}
	case []any, map[string]any:
		return bothDeep(b, l, r)
	}
	return elementSize
}

func multiplied(b *budget, l, r any) int {
	if n := repeated(l, r); n > 0 {
		return n
	}
	if n := repeated(r, l); n > 0 {
		return n
	}
	return product(b, l, r)
}

// repeated is the size of s * n, 0 if that is not what they are.
func repeated(s, n any) int {
	text, ok := s.(string)
	f, also := gojq.ToFloat64(n)
	if !ok || !also {
		return 0
	}
	return elementSize + times(len(text)+1, int(max(0, min(f, math.MaxInt32))))
}

// joined is the size of x | join(y).
func joined(b *budget, x, y any) int {
	n := deepSize(x, b.size)
	return n + times(n/elementSize, shallowSize(y))
}

// grid is the size of x | transpose.
func grid(b *budget, x, _ any) int {
	rows, _ := x.([]any)
	width := 0
	for _, row := range rows {
		if r, ok := row.([]any); ok {
			width = max(width, len(r))
		}
	}
	return deepSize(x, b.size) + times(times(elementSize, len(rows)), width)
}

// pathCost is what setting the path y in x copies, or fills with null up to the index.
func pathCost(_ *budget, x, y any) int {
	path, _ := y.([]any)
	n := shallowSize(y)
	for _, key := range path {
		n = min(n+shallowSize(x), 1<<50)
		list, isList := x.([]any)
		if i, ok := gojq.ToInt(key); ok {
			n += times(elementSize, max(0, i-len(list)))
		}
		x = at(x, list, isList, key)
	}
	return n
}

func at(x any, list []any, isList bool, key any) any {
	if m, ok := x.(map[string]any); ok {
		k, _ := key.(string)
		return m[k]
	}
	i, ok := gojq.ToInt(key)
	if !isList || !ok {
		return nil
	}
	if j := fromEnd(i, len(list)); 0 <= j && j < len(list) {
		return list[j]
	}
	return nil
}

// eventCost is what one event of fromstream may build.
func eventCost(b *budget, event any) int {
	pair, _ := event.([]any)
	if len(pair) == 0 {
		return elementSize
	}
	return pathCost(b, nil, pair[0])
}

// guards are the functions that charge. Each takes the budget as its first argument: one with a second returns that, one
// without its input, an operator's the list of both operands, so that they vanish from the program they are put into.
// The budget is first because gojq computes arguments from the last to the first, and code that it has optimised (such as
// `if . then 1 else 2 end | 3`) may leave a value too many on the stack, below what follows.
func guards() []gojq.CompilerOption {
	options := []gojq.CompilerOption{gojq.WithVariables([]string{"$__budget", "$__now"})}
	for name, c := range inputs {
		options = append(options, gojq.WithFunction(name, 1, 2, charging(c)))
	}
	seen := map[string]bool{}
	for _, o := range operands {
		if !seen[o.name] {
			options = append(options, gojq.WithFunction(o.name, 3, 3, chargingOperands(o.cost)))
		}
		seen[o.name] = true
	}
	return options
}

func charging(c cost) func(any, []any) any {
	return func(input any, args []any) any {
		out, arg := input, any(nil)
		if len(args) == 2 {
			out, arg = args[1], args[1]
		}
		b := args[0].(*budget)
		if err := b.charge(c(b, input, arg)); err != nil {
			return err
		}
		return out
	}
}

func chargingOperands(c cost) func(any, []any) any {
	return func(_ any, args []any) any {
		b := args[0].(*budget)
		if err := b.charge(c(b, args[1], args[2])); err != nil {
			return err
		}
		return []any{args[1], args[2]}
	}
}
