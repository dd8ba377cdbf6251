package bench

import (
	"fmt"
	"strconv"
	"strings"
)

// jqPath spells a path in one of the ways that jq has.
func (g *generator) jqPath(steps []any) string {
	var b strings.Builder
	for _, s := range steps {
		switch s := s.(type) {
		case int:
			b.WriteString(g.jqIndex(s, b.Len() == 0))
		case string:
			b.WriteString(g.jqKey(s, b.Len() == 0))
		}
		if g.oneIn(25) {
			b.WriteString("?")
		}
	}
	if b.Len() == 0 {
		return "."
	}
	return b.String()
}

func (g *generator) jqIndex(i int, first bool) string {
	n := strconv.Itoa(i)
	s := pick(g, "[]", ".[]", "["+n+"]", ".["+n+"]", "["+n+":]", "[-1]", "[:"+n+"]")
	if first && s[0] == '[' {
		return "." + s
	}
	return s
}

func (g *generator) jqKey(key string, first bool) string {
	if g.oneIn(40) {
		key += pick(g, "x", "/x")
	}
	quoted := strconv.Quote(key)
	forms := []string{`.` + quoted, `.[` + quoted + `]`}
	if !first {
		forms = append(forms, `[`+quoted+`]`)
	}
	if identifier.MatchString(key) {
		forms = append(forms, "."+key, "."+key, "."+key, "."+key, "."+key)
	}
	return pick(g, forms...)
}

// selectorJQ makes a key and the values to compare with its result. Mostly they are the outputs of
// the program.
func (g *generator) selectorJQ() (key string, values []any) {
	p := g.place(g.object)
	key = g.jq(p, 2)
	for _, v := range outputs(key, g.object) {
		if g.oneIn(2) && len(values) < 3 {
			values = append(values, g.scalar(v))
		}
	}
	for len(values) == 0 || g.oneIn(3) {
		values = append(values, g.word())
	}
	return key, values
}

// jq makes a program about a place, of a depth at most.
func (g *generator) jq(p place, depth int) string {
	path := g.jqPath(p.steps)
	if depth == 0 || g.oneIn(2) {
		return path
	}
	again := func() string { return g.jq(g.place(g.object), depth-1) }
	return either(g,
		func() string { return g.jqSelect() },
		func() string { return g.jqSelect() },
		func() string { return path + pick(g, " // ", "//") + g.literal(p.value) },
		func() string { return path + " | " + g.jqFilter() },
		func() string { return path + " | " + g.jqFilter() + " | " + g.jqFilter() },
		func() string { return path + g.comparison() + g.literal(p.value) },
		func() string { return path + g.comparison() + "(" + again() + ")" },
		func() string {
			return "(" + again() + ") " + pick(g, "and", "or", "+", "-", "*", "/", "%", ",", "//") + " (" + again() + ")"
		},
		func() string {
			return "(" + again() + ") as $v | " + path + " | [., $v]" + pick(g, "", "[]", " | length")
		},
		func() string { return fmt.Sprintf("if %s then %s else %s end", again(), path, again()) },
		func() string { return "[" + again() + "] | " + g.jqFilter() },
		func() string { return fmt.Sprintf("{a: %s, b: %s} | %s", path, g.literal(p.value), g.jqFilter()) },
		func() string { return `"v\(` + path + `)"` },
		func() string { return "try (" + again() + ") catch ." },
		func() string { return fmt.Sprintf("reduce (%s) as $i (0; . + 1)", again()) },
		func() string { return fmt.Sprintf("first(%s)", again()) },
		func() string { return fmt.Sprintf("[limit(2; %s)] | length", again()) },
		func() string { return path + " = 1 | " + path },
		func() string { return path + " |= tostring | " + path },
		func() string { return "del(" + path + ") | " + again() },
		func() string { return "(" + again() + ")?" },
		func() string { return fmt.Sprintf("any(%s; . == %s)", again(), g.literal(p.value)) },
		func() string { return fmt.Sprintf("[..] | map(select(. == %s)) | length", g.literal(p.value)) },
	)
}

func (g *generator) comparison() string {
	return pick(g, " == ", "==", " != ", " < ", " > ", " <= ", " >= ")
}

// jqSelect picks items of a list, as nearly all Stages with conditions do.
func (g *generator) jqSelect() string {
	lists := g.lists()
	if len(lists) == 0 {
		return g.jqPath(g.place(g.object).steps)
	}
	p := pick(g, lists...)
	item, ok := pick(g, p.value.([]any)...).(map[string]any)
	if !ok || len(item) == 0 {
		return g.jqPath(p.steps)
	}
	key, field := pick(g, sortedKeys(item)...), pick(g, sortedKeys(item)...)
	test := "." + key + g.comparison() + g.literal(item[key])
	if g.oneIn(4) {
		test += pick(g, " and ", " or ") + "." + field + g.comparison() + g.literal(item[field])
	}
	path := g.jqPath(p.steps)
	return pick(g,
		path+".[] | select( "+test+" ) | ."+field,
		path+"[] | select("+test+") | ."+field,
		path+"[]|select("+test+")|."+field,
		path+"[]? | select("+test+")",
		"["+path+"[] | select("+test+")] | length",
		"["+path+"[] | select("+test+")] | length > 0",
		"any("+path+"[]; "+test+")",
		path+" | map(select("+test+") | ."+field+") | .[0]",
		"["+path+"[]."+field+"] | unique",
		path+" // [] | map(."+field+") | all",
	)
}

// jqFilters take one value.
var jqFilters = []string{"length", "tostring", "type", "keys", "not", "ascii_downcase", "tonumber", "to_entries", "unique", "sort", "add", "first",
	"last", "min", "max", "floor", "tojson", "values", "nulls", "strings", "numbers", "arrays", "objects", "booleans", "scalars", "iterables", "flatten",
	"reverse", "any", "all", "empty", "error", "utf8bytelength", "explode", "@base64", "@json", "@text", "@uri", "@html", "@sh", ".[]", ".[]?", "..", ".[0]",
	".[-1]", ".[1:]", ".[:1]", `has("name")`, "has(0)", `test("a")`, `test("^R.*g$"; "i")`, `startswith("R")`, `endswith("g")`, `ltrimstr("a")`, `split("-")`,
	`split(".")`, `join("-")`, `index("a")`, `contains("n")`, `inside("xRunningx")`, "map(.)", "map(type)", "map_values(.)", "with_entries(.)", "tojson | fromjson",
	"[paths] | length", "[leaf_paths] | length", "getpath([\"a\"])", "isvalid(.name)", "select(.)", "select(. != null)", `select(type == "string")`, "abs",
	"toarray", "group_by(.)", "min_by(.)", "sort_by(.name)", "map(.name)", "[.[] | .name]", ".name", ".type", ".status", "splits(\"a\")", `capture("(?<x>a)")`,
	`sub("a"; "b")`, `gsub("[aeiou]"; "")`, "ascii", "implode", "tojson | length", "fromdate", "todate", "ltrimstr(1)", "trim", "env | length", "$__loc__.line",
	"limit(1; .[])", "range(3)", "[range(0; 3)] | add", "walk(.)", "transpose", "combinations", "input_line_number", "nan | isnan", "-1", "pow(.; 2)",
	"sqrt", "round", "ceil", ". * 2", ". + 1", ". - 1", ". / 2", ". % 2", ". + null", "-(.)", "[.] | length", "{a: .}", "{a: .}.a", "getpath([0])", "error(\"x\")", "tojson"}

func (g *generator) jqFilter() string { return pick(g, jqFilters...) }
