package cel

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"

	"github.com/stagecraft-go/stagecraft/internal/regexcost"
)

// A Cost returns the steps of about 100 ns that a call of a function takes, and the size in bytes
// of its result. It can stop to count at the number of remaining steps.
type Cost func(args []ref.Val, left int) (steps, size int)

const (
	bytesPerStep  = 256 // that are read or written
	statesPerStep = 64  // of a regular expression
	elementSize   = 16  // bytes of an element of a list or map, about
	tooMuch       = 1 << 50
)

// costs has the functions whose work is not proportional to the elements and bytes of their
// arguments.
var costs = map[string]Cost{
	operators.Equals: compared, operators.NotEquals: compared,
	operators.In: within, operators.OldIn: within,
	operators.Add:   sum,
	"size":          func(args []ref.Val, _ int) (int, int) { return len(textOf(args[0])) / bytesPerStep, 0 },
	"sets.contains": product, "sets.equivalent": product, "sets.intersects": product,
	"distinct": func(args []ref.Val, left int) (int, int) { return product([]ref.Val{args[0], args[0]}, left) },
	"sort":     sorting, "@sortByAssociatedKeys": sorting,
	"indexOf": scanned, "lastIndexOf": scanned,
	"flatten": multiple(2, deep), "slice": multiple(2, shallow), "math.@max": multiple(2, shallow), "math.@min": multiple(2, shallow),
	"format": multiple(4, deep), "json.encode": multiple(16, deep),
	"timestamp": multiple(16, shallow), "duration": multiple(4, shallow), "bool": multiple(4, shallow), "int": multiple(4, shallow),
	"uint": multiple(4, shallow), "double": multiple(4, shallow),
	"getDate": zoned, "getDayOfMonth": zoned, "getDayOfWeek": zoned, "getDayOfYear": zoned, "getFullYear": zoned, "getHours": zoned,
	"getMilliseconds": zoned, "getMinutes": zoned, "getMonth": zoned, "getSeconds": zoned,
	"charAt": rewritten, "substring": rewritten, "reverse": rewritten, "trim": rewritten, "strings.quote": multiple(2, rewritten),
	"lowerAscii": rewritten, "upperAscii": rewritten, "base64.encode": rewritten, "base64.decode": rewritten,
	"bytes": rewritten, "string": rewritten,
	"join":        joined,
	"replace":     replaced,
	"split":       func(args []ref.Val, _ int) (int, int) { return built(len(textOf(args[0])) + 1) },
	"lists.range": func(args []ref.Val, _ int) (int, int) { return built(intOf(args[0])) },
}

// shallow looks at each element and byte of the arguments, but not into the elements.
func shallow(args []ref.Val, _ int) (steps, _ int) {
	for _, v := range args {
		switch x := v.(type) {
		case types.String:
			steps += len(x) / bytesPerStep
		case types.Bytes:
			steps += len(x) / bytesPerStep
		case traits.Sizer:
			steps += intOf(x.Size()) / 4
		case interface{ Weight() int }:
			steps += x.Weight()
		}
	}
	return steps, 0
}

// rewritten makes a text out of another, by way of its characters.
func rewritten(args []ref.Val, left int) (steps, size int) {
	steps, _ = shallow(args, left)
	return times(8, steps), 4 * len(textOf(args[0]))
}

func deep(args []ref.Val, left int) (steps, _ int) {
	for _, v := range args {
		steps += work(v, left)
	}
	return steps, 0
}

// compared goes no further than the smaller of two values. It counts both in turn, because to count
// a large one is work as well.
func compared(args []ref.Val, left int) (steps, _ int) {
	for limit := 16; ; limit *= 4 {
		limit = min(limit, max(left, 0))
		x, y := work(args[0], limit), work(args[1], limit)
		if least := min(x, y); least <= limit || limit >= left {
			return 2 * least, 0
		}
	}
}

func within(args []ref.Val, left int) (steps, _ int) {
	if _, isMap := args[1].(traits.Mapper); isMap {
		return work(args[0], left), 0
	}
	return work(args[1], left), 0
}

// sum is the size of two texts or lists one after the other. A macro adds to a list of its own, which
// is not copied.
func sum(args []ref.Val, _ int) (steps, size int) {
	x, isList := args[0].(traits.Lister)
	y, both := args[1].(traits.Lister)
	if isList && both {
		n, m := intOf(x.Size()), intOf(y.Size())
		if _, grows := x.(traits.MutableLister); grows {
			return m / 4, times(n+m, elementSize)
		}
		return (n + m) / 4, times(n+m, elementSize)
	}
	steps, _ = shallow(args, 0)
	return 2 * steps, len(textOf(args[0])) + len(textOf(args[1]))
}

func product(args []ref.Val, left int) (steps, _ int) {
	return times(work(args[0], left), work(args[1], left)), 0
}

func sorting(args []ref.Val, left int) (steps, _ int) {
	steps, _ = deep(args, left)
	return times(16, steps), 0
}

// scanned makes lists of the characters of both texts, and then looks at each place.
func scanned(args []ref.Val, _ int) (steps, _ int) {
	n, m := len(textOf(args[0])), len(textOf(args[1]))
	return (times(n, m) + times(8, n+m)) / bytesPerStep, 0
}

// multiple is a cost a number of times.
func multiple(n int, cost Cost) Cost {
	return func(args []ref.Val, left int) (steps, size int) {
		steps, size = cost(args, left)
		return times(n, steps), size
	}
}

// zoneSteps is the cost of reading a time zone from a file.
const zoneSteps = 300

func zoned(args []ref.Val, left int) (steps, _ int) {
	steps, _ = shallow(args, left)
	if len(args) > 1 {
		steps = zoneSteps + 16*steps
	}
	return steps, 0
}

func joined(args []ref.Val, left int) (steps, size int) {
	list, _ := args[0].(traits.Lister)
	if list == nil {
		return 0, 0
	}
	for it := list.Iterator(); it.HasNext() == types.True && steps <= left; steps++ {
		size += len(textOf(it.Next()))
	}
	if len(args) > 1 {
		size += times(steps, len(textOf(args[1])))
	}
	return steps + size/bytesPerStep, size
}

// built is the cost of a new list.
func built(elements int) (steps, size int) {
	return max(0, elements) / 2, times(max(0, elements), elementSize)
}

// replaced has a new text for each place where the old one is found.
func replaced(args []ref.Val, _ int) (steps, size int) {
	s, old := textOf(args[0]), textOf(args[1])
	found := len(s)/max(1, len(old)) + 1
	if len(args) > 3 && intOf(args[3]) >= 0 {
		found = min(found, intOf(args[3]))
	}
	size = len(s) + times(found, len(textOf(args[2])))
	return (len(s) + size) / bytesPerStep, size
}

func textOf(v ref.Val) string {
	s, _ := v.(types.String)
	return string(s)
}

func intOf(v ref.Val) int {
	n, _ := v.(types.Int)
	return int(n)
}

// times multiplies two numbers that are not negative. A product above every limit stays above it,
// without overflow.
func times(a, b int) int {
	if a > 0 && b > tooMuch/a {
		return tooMuch
	}
	return a * b
}

// Work returns the steps that it takes to go through a value and all its parts, up to a number above
// limit.
func Work(v any, limit int) int { return work(v, limit) }

// work returns the steps that it takes to go through a value and all its parts. It stops at a
// number above limit: because of sharing, a small value can look larger than any memory.
func work(v any, limit int) int {
	n := 1
	switch x := v.(type) {
	case string:
		n += len(x) / bytesPerStep
	case types.String:
		n += len(x) / bytesPerStep
	case types.Bytes:
		n += len(x) / bytesPerStep
	case jsonMap:
		return work(map[string]any(x), limit)
	case jsonList:
		return work([]any(x), limit)
	case map[string]any:
		for k, e := range x {
			if n += len(k)/bytesPerStep + work(e, limit-n); n > limit {
				break
			}
		}
	case []any:
		for i := 0; i < len(x) && n <= limit; i++ {
			n += work(x[i], limit-n)
		}
	case traits.Mapper:
		for it := x.Iterator(); n <= limit && it.HasNext() == types.True; {
			k := it.Next()
			e, _ := x.Find(k)
			n += work(k, limit-n) + work(e, limit-n)
		}
	case traits.Lister:
		for it := x.Iterator(); n <= limit && it.HasNext() == types.True; {
			n += work(it.Next(), limit-n)
		}
	case interface{ Weight() int }:
		n += x.Weight()
	}
	return n
}

// sizeOf returns the approximate size in bytes of a value that an expression made. A part of the
// object counts as one element. It stops at a number above limit.
func sizeOf(v ref.Val, limit int) int {
	n := elementSize
	switch x := v.(type) {
	case types.String:
		return n + len(x)
	case types.Bytes:
		return n + len(x)
	case jsonMap, jsonList:
	case traits.Lister:
		for it := x.Iterator(); n <= limit && it.HasNext() == types.True; {
			n += sizeOf(it.Next(), limit-n)
		}
	case traits.Mapper:
		for it := x.Iterator(); n <= limit && it.HasNext() == types.True; {
			k := it.Next()
			e, _ := x.Find(k)
			n += sizeOf(k, limit-n) + sizeOf(e, limit-n)
		}
	}
	return n
}

// tooLarge is the error of a value over a limit, in bytes.
func tooLarge(limit int) ref.Val {
	return types.NewErr("size limit exceeded: a value is larger than %d bytes", limit)
}

// matches searches a text for a regular expression. A constant one is compiled once.
func (m metered) matches(node interpreter.InterpretableCall) (interpreter.InterpretableV2, error) {
	states, compile := 0, regexp.Compile
	if c, ok := node.Args()[1].(interpreter.InterpretableConst); ok {
		pattern := textOf(c.Value())
		if regexcost.Parse(pattern)/statesPerStep > m.limit {
			return nil, fmt.Errorf("a regular expression of %d bytes: %w", len(pattern), ErrCost)
		}
		if states = regexcost.States(pattern); regexcost.Compile(states)/statesPerStep > m.limit {
			return nil, fmt.Errorf("a regular expression of %d states: %w", states, ErrCost)
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, err
		}
		compile = func(string) (*regexp.Regexp, error) { return re, nil }
	}
	cost := func(args []ref.Val, left int) (steps, _ int) {
		states, pattern := states, textOf(args[1])
		if states == 0 {
			if steps = regexcost.Parse(pattern) / statesPerStep; steps > left {
				return steps, 0
			}
			states = regexcost.States(pattern)
			steps += regexcost.Compile(states) / statesPerStep
		}
		return steps + times(states, len(textOf(args[0]))+1)/statesPerStep, 0
	}
	return m.paying(node, "@matches", cost, func(args ...ref.Val) ref.Val {
		s, isText := args[0].(types.String)
		pattern, isPattern := args[1].(types.String)
		if !isText || !isPattern {
			return types.NewErr("no such overload: %s", overloads.Matches)
		}
		re, err := compile(string(pattern))
		if err != nil {
			return types.WrapErr(err)
		}
		return types.Bool(re.MatchString(string(s)))
	}), nil
}

// ErrCost is wrapped by the error of an evaluation that would take more than Options.Cost.
var ErrCost = errors.New("cost limit exceeded")
