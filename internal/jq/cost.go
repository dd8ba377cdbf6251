package jq

import (
	"cmp"
	"math"

	"github.com/itchyny/gojq"

	"github.com/stagecraft-go/stagecraft/internal/regexcost"
)

// A cost returns the largest work and result of one call. It is charged to the budget before the
// call.
type cost func(b *budget, x, y any) int

// costs are the functions that charge, by name.
var costs = map[string]cost{
	"__shallow":  func(_ *budget, x, y any) int { return shallowSize(x) + shallowSize(y) },
	"__deep":     bothDeep,
	"__sort":     func(b *budget, x, y any) int { return times(8, bothDeep(b, x, y)) },
	"__compare":  sameKind,
	"__multiply": multiplied,
	"__divide":   func(b *budget, x, y any) int { return times(8, bothDeep(b, x, y)) },
	"__wide":     func(b *budget, _, y any) int { return times(256, bothDeep(b, nil, y)) },
	"__parse":    func(_ *budget, x, _ any) int { return times(32, shallowSize(x)) },
	"__search":   func(b *budget, x, y any) int { return searched(b, x, y, 1) },
	"__scan":     func(b *budget, x, y any) int { return searched(b, x, y, 1+shallowSize(x)/4) },
	"__digits":   func(_ *budget, x, _ any) int { return shallowSize(x) + times(shallowSize(x), shallowSize(x))/64 },
	"__product":  product,
	"__indices":  func(b *budget, x, y any) int { return product(b, x, y) + times(16, deepSize(x, b.size)) },
	"__join":     joined,
	"__grid":     grid,
	"__path":     pathCost,
	"__event":    eventCost,
}

// operators are the costs of the binary operators.
var operators = map[gojq.Operator]string{
	gojq.OpAdd: "__shallow", gojq.OpMod: "__shallow",
	gojq.OpSub: "__product", gojq.OpMul: "__multiply", gojq.OpDiv: "__divide",
	gojq.OpEq: "__compare", gojq.OpNe: "__compare",
	gojq.OpLt: "__compare", gojq.OpLe: "__compare", gojq.OpGt: "__compare", gojq.OpGe: "__compare",
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
	return cmp.Or(repeated(l, r), repeated(r, l), product(b, l, r))
}

// repeated returns the size of s * n; 0 if they are not a string and a number.
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

// regexRate is the cost of looking at one state of a regular expression for one byte of a text.
const regexRate = 2

// searched returns the cost of a number of searches of the text x for the pattern y, and of
// compiling the pattern, which gojq does twice. Each search may read the whole rest of the text.
func searched(b *budget, x, y any, searches int) int {
	text, _ := x.(string)
	pattern, _ := y.(string)
	n := shallowSize(x) + 2*regexRate*regexcost.Parse(pattern)
	if n > b.size {
		return n
	}
	states := regexcost.States(pattern)
	b.states += states
	return n + 2*regexRate*regexcost.Compile(states) + times(times(regexRate*states, len(text)+1), searches)
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

// pathCost returns the cost of setting the path y in x, which copies, or fills with null up to the
// index.
func pathCost(_ *budget, x, y any) int {
	path, _ := y.([]any)
	n := shallowSize(y)
	for _, key := range path {
		n = min(n+shallowSize(x), 1<<50)
		list, _ := x.([]any)
		if i, ok := gojq.ToInt(key); ok {
			n += times(elementSize, max(0, i-len(list)))
			x = elementAt(list, i)
			continue
		}
		m, _ := x.(map[string]any)
		name, _ := key.(string)
		x = m[name]
	}
	return n
}

// eventCost returns the largest value that one event y of fromstream builds.
func eventCost(b *budget, _, y any) int {
	event, _ := y.([]any)
	if len(event) == 0 {
		return elementSize
	}
	return pathCost(b, nil, event[0])
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
