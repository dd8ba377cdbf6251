package argolua

import (
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// What a script may call. The functions of gopher-lua that take no more work than their result, or
// than an instruction, are used as they are.

// baseNames are the functions of the base library that stay; load, require, print, collectgarbage,
// metatables and environments go.
var baseNames = []string{"assert", "error", "ipairs", "next", "pairs", "pcall", "tonumber", "tostring", "type"}

// open opens the libraries of the sandbox.
func (b *box) open() {
	l := b.state
	base := b.library(lua.OpenBase, lua.BaseLibName, "_G")
	for _, name := range baseNames {
		l.SetGlobal(name, base[name])
	}
	b.openStrings()
	tables := b.library(lua.OpenTable, lua.TabLibName, lua.TabLibName)
	b.module(lua.TabLibName, map[string]lua.LValue{
		"getn": tables["getn"], "maxn": tables["maxn"], "remove": b.shifting(tables["remove"]), "insert": b.shifting(tables["insert"]),
		"sort": b.sorting(tables["sort"]), "concat": l.NewFunction(b.joinTable),
	})
	numbers := b.library(lua.OpenMath, lua.MathLibName, lua.MathLibName)
	b.module(lua.MathLibName, pick(numbers, "abs", "ceil", "floor", "fmod", "huge", "max", "min", "modf"))
	b.module(lua.OsLibName, map[string]lua.LValue{"time": l.NewFunction(b.time)})
	l.SetGlobal(concatName, l.NewFunction(b.concat))
	l.SetGlobal(compareName, l.NewFunction(b.compare))
}

// library opens a library of gopher-lua, takes its functions, and removes every global that it made.
func (b *box) library(open lua.LGFunction, name, global string) map[string]lua.LValue {
	l := b.state
	l.Push(l.NewFunction(open))
	l.Push(lua.LString(name))
	l.Call(1, 0)
	out := map[string]lua.LValue{}
	source, _ := l.GetGlobal(global).(*lua.LTable)
	var made []string
	source.ForEach(func(k, v lua.LValue) { out[k.String()] = v })
	l.G.Global.ForEach(func(k, _ lua.LValue) { made = append(made, k.String()) })
	if global == "_G" {
		for _, key := range made {
			l.G.Global.RawSetString(key, lua.LNil)
		}
	} else {
		l.SetGlobal(global, lua.LNil)
	}
	return out
}

func pick(from map[string]lua.LValue, names ...string) map[string]lua.LValue {
	out := map[string]lua.LValue{}
	for _, name := range names {
		out[name] = from[name]
	}
	return out
}

func (b *box) module(name string, functions map[string]lua.LValue) *lua.LTable {
	t := b.state.NewTable()
	for key, f := range functions {
		t.RawSetString(key, f)
	}
	b.state.SetGlobal(name, t)
	return t
}

// openStrings opens the library of strings, which is also where methods of strings are found.
func (b *box) openStrings() {
	l := b.state
	all := b.library(lua.OpenString, lua.StringLibName, lua.StringLibName)
	t := b.module(lua.StringLibName, map[string]lua.LValue{
		"len": all["len"], "byte": all["byte"], "sub": b.making(all["sub"]), "lower": b.making(all["lower"]),
		"upper": b.making(all["upper"]), "find": l.NewFunction(b.find(false)), "match": l.NewFunction(b.find(true)),
		"gsub": l.NewFunction(b.replaceAll), "format": b.formatting(all["format"]), "rep": l.NewFunction(b.repeated),
	})
	methods := l.NewTable()
	methods.RawSetString("__index", t)
	l.SetMetatable(lua.LString(""), methods)
}

// pass calls a function of gopher-lua with the arguments of the current call.
func (b *box) pass(f lua.LValue) int {
	l := b.state
	n := l.GetTop()
	l.Insert(f, 1)
	l.Call(n, lua.MultRet)
	return l.GetTop()
}

// making charges a string as long as the first argument.
func (b *box) making(f lua.LValue) lua.LValue {
	return b.state.NewFunction(func(l *lua.LState) int {
		b.make(len(l.CheckString(1)))
		return b.pass(f)
	})
}

// longestWidth is the most digits of a width or precision in a format.
const longestWidth = 2

// formatting refuses widths that no message needs, and charges all arguments.
func (b *box) formatting(f lua.LValue) lua.LValue {
	return b.state.NewFunction(func(l *lua.LState) int {
		format := l.CheckString(1)
		digits := 0
		for _, c := range format {
			if digits++; c < '0' || c > '9' {
				digits = 0
			}
			if digits > longestWidth {
				l.RaiseError("a width in a format has more than %d digits", longestWidth)
			}
		}
		n := len(format) * 100
		for i := 2; i <= l.GetTop(); i++ {
			n += len(l.Get(i).String())
		}
		b.make(n)
		return b.pass(f)
	})
}

func (b *box) repeated(l *lua.LState) int {
	text, n := l.CheckString(1), max(0, l.CheckInt(2))
	if len(text) > 0 && n > b.bytes/len(text) {
		b.make(b.bytes + 1)
	}
	b.make(len(text) * n)
	l.Push(lua.LString(strings.Repeat(text, n)))
	return 1
}

// shifting charges the elements that move.
func (b *box) shifting(f lua.LValue) lua.LValue {
	return b.state.NewFunction(func(l *lua.LState) int {
		b.charge(l.CheckTable(1).Len() / 64)
		return b.pass(f)
	})
}

// sorting charges the comparisons that are not instructions.
func (b *box) sorting(f lua.LValue) lua.LValue {
	return b.state.NewFunction(func(l *lua.LState) int {
		n := l.CheckTable(1).Len()
		b.charge(n * len(strconv.FormatInt(int64(n), 2)))
		return b.pass(f)
	})
}

func (b *box) joinTable(l *lua.LState) int {
	t, separator := l.CheckTable(1), l.OptString(2, "")
	first, last := l.OptInt(3, 1), l.OptInt(4, t.Len())
	b.charge(max(0, last-first))
	var parts []string
	for i := first; i <= last; i++ {
		v := t.RawGetInt(i)
		if !lua.LVCanConvToString(v) {
			l.RaiseError("invalid value (%s) at index %d in table for concat", v.Type(), i)
		}
		b.make(len(v.String()) + len(separator))
		parts = append(parts, v.String())
	}
	l.Push(lua.LString(strings.Join(parts, separator)))
	return 1
}

// concat is the operator "..".
func (b *box) concat(l *lua.LState) int {
	x, y := l.Get(1), l.Get(2)
	for _, v := range []lua.LValue{x, y} {
		if !lua.LVCanConvToString(v) {
			l.RaiseError("cannot perform concat operation between %s and %s", x.Type(), y.Type())
		}
	}
	left, right := x.String(), y.String()
	b.make(len(left) + len(right))
	l.Push(lua.LString(left + right))
	return 1
}

// compare is the operators that compare.
func (b *box) compare(l *lua.LState) int {
	operator, x, y := l.CheckString(1), l.Get(2), l.Get(3)
	if s, ok := x.(lua.LString); ok && x.Type() == y.Type() {
		b.charge(len(s) / 64)
	}
	var holds bool
	switch operator {
	case "==":
		holds = l.Equal(x, y)
	case "~=":
		holds = !l.Equal(x, y)
	case "<":
		holds = l.LessThan(x, y)
	case ">":
		holds = l.LessThan(y, x)
	case "<=":
		holds = l.LessThan(x, y) || l.Equal(x, y)
	case ">=":
		holds = l.LessThan(y, x) || l.Equal(x, y)
	}
	l.Push(lua.LBool(holds))
	return 1
}

// time is os.time: the time of the verdict, or that of a table in UTC.
func (b *box) time(l *lua.LState) int {
	if l.GetTop() == 0 {
		l.Push(lua.LNumber(b.now.Unix()))
		return 1
	}
	t := l.CheckTable(1)
	field := func(name string, otherwise int) int {
		if n, ok := t.RawGetString(name).(lua.LNumber); ok {
			return int(n)
		}
		if n, err := strconv.Atoi(lua.LVAsString(t.RawGetString(name))); err == nil {
			return n
		}
		return otherwise
	}
	l.Push(lua.LNumber(date(field).Unix()))
	return 1
}
