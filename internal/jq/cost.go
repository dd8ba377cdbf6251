package jq

import (
	"cmp"
	"math"
	"math/big"
	"strings"

	"github.com/itchyny/gojq"

	"github.com/stagecraft-go/stagecraft/internal/regexcost"
)

// A cost returns the largest work and result of one call. It is charged to the budget before the
// call.
type cost func(b *budget, x, y any) int

// costs are the functions that charge, by name. x is the input and y the argument of a call; of a
// guard with two operands, x and y are the operands.
var costs = map[string]cost{
	"__shallow":  func(_ *budget, x, y any) int { return shallowSize(x) + shallowSize(y) },
	"__keys":     func(_ *budget, x, _ any) int { return times(4, shallowSize(x)) },
	"__deep":     bothDeep,
	"__print":    func(b *budget, x, y any) int { return times(4, bothDeep(b, x, y)) },
	"__sort":     func(b *budget, x, y any) int { return times(8, bothDeep(b, x, y)) },
	"__keyed":    func(b *budget, x, y any) int { return times(4, shallowSize(x)) + times(8, deepSize(y, b.size)) },
	"__compare":  sameKind,
	"__multiply": multiplied,
	"__divide":   func(b *budget, x, y any) int { return pieces(x, y) + product(b, x, y) },
	"__split":    func(b *budget, x, y any) int { return pieces(x, y) + product(b, x, y) },
	"__runes":    func(_ *budget, x, _ any) int { return times(elementSize, shallowSize(x)) },
	"__time":     timed,
	"__parse":    parsed,
	"__digits":   digits,
	"__product":  product,
	"__indices":  found,
	"__join":     joined,
	"__grid":     grid,
	"__walk":     walked,
	"__delete":   deleted,
	"__each":     each,
	"__element":  accessed,
	"__text":     func(_ *budget, x, _ any) int { return runesSize(x) },
	"__has":      func(_ *budget, x, y any) int { return textSize(y) + unlessContainer(x) },
	"__named":    func(_ *budget, x, _ any) int { return unlessObject(x) },
	"__part":     func(_ *budget, x, _ any) int { return runesSize(x) + unlessList(x) },
	"__number":   func(_ *budget, x, y any) int { return unlessNumber(x) + unlessNumber(y) },
	"__float":    func(_ *budget, x, y any) int { return 2<<10 + unlessNumber(x) + unlessNumber(y) },
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
	if bits(l)+bits(r) > maxBits {
		return 1 << 50
	}
	return cmp.Or(repeated(l, r), repeated(r, l), product(b, l, r))
}

// Integers have at most maxBits, or maxDigits, so that calculating with one takes no longer than a
// step.
const (
	maxBits   = 4096
	maxDigits = 1233
)

func bits(v any) int {
	if x, ok := v.(*big.Int); ok {
		return x.BitLen()
	}
	return 0
}

// widest is the largest width that strftime fills.
const widest = 1024

// timed is the cost of x | strftime(y) and strptime(y), whose errors have the text in them.
func timed(_ *budget, x, y any) int {
	format, _ := y.(string)
	n, width := times(elementSize, textSize(x))+times(32, shallowSize(y)), 0
	for _, c := range []byte(format) {
		if c < '0' || c > '9' {
			n, width = n+width, 0
			continue
		}
		width = min(10*width+int(c-'0'), widest)
	}
	return n + width
}

// digits is the cost of x | tonumber.
func digits(_ *budget, x, _ any) int {
	n := textSize(x)
	if n > maxDigits {
		return 1 << 50
	}
	return 4 * n
}

// parsed is the cost of x | fromjson.
func parsed(_ *budget, x, _ any) int {
	text, _ := x.(string)
	if hasLongNumber(text) {
		return 1 << 50
	}
	return times(32, shallowSize(x))
}

// hasLongNumber reports whether a text in JSON has a number of more than maxDigits.
func hasLongNumber(text string) bool {
	quoted, run := false, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted, run = !quoted, 0
		case !quoted && '0' <= c && c <= '9':
			if run++; run > maxDigits {
				return true
			}
		default:
			run = 0
		}
	}
	return false
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

// textSize is the size of a text; 0 for other values.
func textSize(v any) int {
	text, _ := v.(string)
	return len(text)
}

// runesSize is the cost of finding characters of a text by their number, in up to three passes.
func runesSize(v any) int { return 4 * textSize(v) }

// each is the cost of .[], which lists all elements first, and sorts the keys of an object.
func each(_ *budget, x, _ any) int {
	switch v := x.(type) {
	case []any:
		return times(2*elementSize, len(v))
	case map[string]any:
		return times(8*elementSize, len(v))
	}
	return previewSize(x)
}

// accessed is the cost of x[y], which is a character, a field, an element, a part or the places of
// a list.
func accessed(b *budget, x, y any) int {
	switch key := y.(type) {
	case string:
		return len(key) + unlessObject(x)
	case []any:
		return found(b, x, y) + unlessList(x)
	}
	return runesSize(x) + unlessList(x)
}

// pieces is the size of x | split(y).
func pieces(x, y any) int {
	text, _ := x.(string)
	separator, both := y.(string)
	if !both {
		return 0
	}
	return times(4*elementSize, strings.Count(text, separator)+1)
}

// found is the cost of x | indices(y), which makes lists of the characters of texts.
func found(b *budget, x, y any) int {
	n := product(b, x, y) + times(2*elementSize, deepSize(x, b.size))
	if textSize(x) > 0 || x == "" {
		n += times(2*elementSize, textSize(y))
	}
	return n
}

// joined is the size of x | join(y).
func joined(b *budget, x, y any) int {
	n := deepSize(x, b.size)
	return n + times(n/elementSize, shallowSize(y))
}

// regexRate is the cost of looking at one state of a regular expression for one byte of a text.
const regexRate = 2

// matched returns the cost of _match, whose arguments are a pattern, flags, and whether it only
// tests. gojq compiles a pattern twice. With the flag g, each search may read the whole rest of the
// text.
func matched(b *budget, x any, args []any) int {
	text, _ := x.(string)
	pattern, _ := args[0].(string)
	flags, _ := args[1].(string)
	searches := 1
	if strings.Contains(flags, "g") && args[2] != true {
		searches += shallowSize(x) / 4
	}
	n := shallowSize(x) + times(8, shallowSize(args[1])) + 2*regexRate*regexcost.Parse(pattern)
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
