package jq

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/itchyny/gojq"
)

// comparisons say for which results of compare an operator holds.
var comparisons = map[gojq.Operator]func(int) bool{
	gojq.OpEq: func(c int) bool { return c == 0 },
	gojq.OpNe: func(c int) bool { return c != 0 },
	gojq.OpLt: func(c int) bool { return c < 0 },
	gojq.OpLe: func(c int) bool { return c <= 0 },
	gojq.OpGt: func(c int) bool { return c > 0 },
	gojq.OpGe: func(c int) bool { return c >= 0 },
}

// compare orders two values as gojq.Compare does, without converting those that are compared most.
func compare(a, b any) int {
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return strings.Compare(x, y)
		}
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
	}
	return gojq.Compare(toGojq(a), toGojq(b))
}

// truth is jq's: everything but null and false.
func truth(v any) bool { return v != nil && v != false }

// function compiles a call of a native function. Arguments other than those of select, any and all are
// constants.
func function(f *gojq.Func) filter {
	switch f.Name + "/" + strconv.Itoa(len(f.Args)) {
	case "not/0":
		return mapped(func(v any) (any, error) { return !truth(v), nil })
	case "length/0":
		return mapped(length)
	case "select/1":
		return selected(single(f.Args[0]))
	case "any/0", "all/0":
		return quantified(everyElement, identity(), f.Name == "any")
	case "any/1", "all/1":
		return quantified(everyElement, f.Args[0], f.Name == "any")
	case "any/2", "all/2":
		return quantified(f.Args[0], f.Args[1], f.Name == "any")
	}
	if len(f.Args) != 1 {
		return nil
	}
	arg, ok := constant(f.Args[0])
	if !ok {
		return nil
	}
	return withConstant(f.Name, arg)
}

func withConstant(name string, arg any) filter {
	text, isText := arg.(string)
	switch {
	case name == "startswith" && isText:
		return ofString(name+"("+preview(arg)+")", func(s string) bool { return strings.HasPrefix(s, text) })
	case name == "endswith" && isText:
		return ofString(name+"("+preview(arg)+")", func(s string) bool { return strings.HasSuffix(s, text) })
	case name == "test" && text != "":
		if re, err := regexp.Compile(text); err == nil {
			return ofString("test("+preview(arg)+"; null)", re.MatchString)
		}
	}
	return nil
}

// everyElement is .[].
var everyElement = &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIdentity, SuffixList: []*gojq.Suffix{{Iter: true}}}}

// mapped is a filter that has exactly one output.
func mapped(f func(v any) (any, error)) filter {
	return func(out []any, v any) ([]any, error) {
		v, err := f(v)
		if err != nil {
			return out, err
		}
		return append(out, v), nil
	}
}

func selected(holds filter) filter {
	if holds == nil {
		return nil
	}
	return func(out []any, v any) ([]any, error) {
		x, found, err := one(holds, out, v)
		if found && truth(x) {
			out = append(out, v)
		}
		return out, err
	}
}

// quantified compiles any and all. Outputs after the one that decides do not count, nor do their errors.
func quantified(generator, predicate *gojq.Query, enough bool) filter {
	generate, _ := compileNative(generator)
	holds := single(predicate)
	if generate == nil || holds == nil {
		return nil
	}
	return func(out []any, v any) ([]any, error) {
		start := len(out)
		all, failure := generate(out, v)
		room := slices.Grow(all, spare)
		for _, x := range all[start:] {
			answer, found, err := one(holds, room, x)
			switch {
			case err != nil:
				return out, err
			case found && truth(answer) == enough:
				return append(out, enough), nil
			}
		}
		if failure != nil {
			return out, failure
		}
		return append(out, !enough), nil
	}
}

// elements is .[], of a map in the order of its keys.
func elements(out []any, v any) ([]any, error) {
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			out = append(out, plain(e))
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) {
			out = append(out, plain(x[k]))
		}
	case nil:
		return out, errIterateNull
	default:
		return out, typeError("cannot iterate over: ", v)
	}
	return out, nil
}

// errIterateNull comes often, since a missing field is null.
var errIterateNull = typeError("cannot iterate over: ", nil)

// typeError is a run-time error in the words of gojq. Its text is made at once: it must not keep the object.
func typeError(problem string, v any) error {
	n := toGojq(v)
	if n == nil {
		return errors.New(problem + "null")
	}
	return errors.New(problem + gojq.TypeOf(n) + " (" + gojq.Preview(n) + ")")
}

// fields is .a.b.c.
func fields(names []string) filter {
	return func(out []any, v any) ([]any, error) {
		for _, name := range names {
			switch m := v.(type) {
			case map[string]any:
				v = plain(m[name])
			case nil:
			default:
				return out, typeError("expected an object but got: ", v)
			}
		}
		return append(out, v), nil
	}
}

func element(i int) filter {
	return mapped(func(v any) (any, error) {
		switch x := v.(type) {
		case []any:
			if j := fromEnd(i, len(x)); 0 <= j && j < len(x) {
				return plain(x[j]), nil
			}
			return nil, nil
		case string:
			runes := []rune(x)
			if j := fromEnd(i, len(runes)); 0 <= j && j < len(runes) {
				return string(runes[j]), nil
			}
			return nil, nil
		case nil:
			return nil, nil
		}
		return nil, typeError("expected an array but got: ", v)
	})
}

func fromEnd(i, length int) int {
	if i < 0 {
		return i + length
	}
	return i
}

func length(v any) (any, error) {
	switch x := v.(type) {
	case nil:
		return int64(0), nil
	case string:
		return int64(utf8.RuneCountInString(x)), nil
	case []any:
		return int64(len(x)), nil
	case map[string]any:
		return int64(len(x)), nil
	case float64:
		return math.Abs(x), nil
	case bool:
		return nil, typeError("length cannot be applied to: ", v)
	}
	n := new(big.Int)
	switch x := toGojq(v).(type) {
	case int:
		n.SetInt64(int64(x))
	case *big.Int:
		n.Set(x)
	}
	return fromGojq(n.Abs(n)), nil
}

func preview(v any) string { return gojq.Preview(toGojq(v)) }

func ofString(call string, holds func(string) bool) filter {
	problem := call + " cannot be applied to: "
	null := typeError(problem, nil) // comes often, since a missing field is null
	return func(out []any, v any) ([]any, error) {
		switch s := v.(type) {
		case string:
			return append(out, holds(s)), nil
		case nil:
			return out, null
		}
		return out, typeError(problem, v)
	}
}

// constant returns the value of a query that is a literal and nothing else.
func constant(q *gojq.Query) (any, bool) {
	if !isPlain(q) || q.Term == nil || len(q.Term.SuffixList) > 0 {
		return nil, false
	}
	return literal(q.Term)
}

// literal returns the value of a term that is a constant.
func literal(t *gojq.Term) (any, bool) {
	switch t.Type {
	case gojq.TermTypeNull:
		return nil, true
	case gojq.TermTypeTrue:
		return true, true
	case gojq.TermTypeFalse:
		return false, true
	case gojq.TermTypeString:
		return t.Str.Str, !isInterpolated(t.Str)
	case gojq.TermTypeNumber:
		return number(t.Number)
	case gojq.TermTypeUnary:
		if u := t.Unary; u.Op == gojq.OpSub && u.Term.Type == gojq.TermTypeNumber && len(u.Term.SuffixList) == 0 {
			return number("-" + u.Term.Number)
		}
	}
	return nil, false
}

func number(text string) (any, bool) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, true
	}
	if !strings.ContainsAny(text, ".eE") {
		return nil, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil
}
