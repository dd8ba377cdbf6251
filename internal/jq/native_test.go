package jq_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/itchyny/gojq"
	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/internal/jq"
	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/position"
)

// reference is what gojq, on its own, makes of a program and an object whose numbers it takes as
// they are.
func reference(source string, obj map[string]any) (outputs []any, compileErr, err error) {
	q, err := gojq.Parse(source)
	if err != nil {
		return nil, err, nil
	}
	code, err := gojq.Compile(q)
	if err != nil {
		return nil, err, nil
	}
	it := code.Run(ints(obj))
	for v, ok := it.Next(); ok; v, ok = it.Next() {
		if err, ok := v.(error); ok {
			return nil, nil, err
		}
		outputs = append(outputs, v)
	}
	return outputs, nil, nil
}

// TestDiffersWhereGojqLeavesAValue checks the difference in the package comment, and that gojq
// still behaves in this way.
func TestDiffersWhereGojqLeavesAValue(t *testing.T) {
	obj := map[string]any{"a": true, "b": "x"}
	for source, want := range map[string]any{
		`(if .a then 1 else 2 end | 3) < 10`: true,
		`.b | select(1 or .a | 2)`:           "x",
	} {
		require.Equal(t, []any{want}, run(t, source, obj))
		outputs, _, err := reference(source, obj)
		require.NoError(t, err)
		require.NotEqual(t, []any{want}, outputs, "%s: gojq is mended", source)
	}
}

func run(t *testing.T, source string, obj map[string]any) []any {
	program, err := jq.Compile(source, jq.Options{})
	require.NoError(t, err, source)
	got, err := program.Run(&jq.Input{Object: obj, Now: time.Time{}})
	require.NoError(t, err, source)
	return slices.Clone(got)
}

// TestConstantsAfterBranches compares constants with what they are, behind everything that ends in
// one of several branches: no value may be left below them.
func TestConstantsAfterBranches(t *testing.T) {
	branches := []string{
		"if .a then 1 else 2 end", "if .none then 1 elif .a then 2 else 3 end", "if .a then $v else $v end",
		"if .a then . else 2 end", "if .none then 1 end", ".a and .b", ".none or .a", ".a // 1", ".none // $v",
		"try error catch $v", "try 1 catch 2", "(.a, .b)", "reduce 1 as $x (.; 2)", "first(.a, 1)", "(1 as $x | $x)",
		"(if .a then (if .none then 1 else 2 end) else 3 end)", "limit(2; .a, .b)", "def f: if .a then 1 else 2 end; f",
		"(label $f | if .a then 1 else break $f end)",
	}
	constants := []string{
		"3", "-3", `"x"`, "null", "true", "[]", "[3]", "{}", `{"k": 3}`, "$v", "$v.k", "(3)", "(3 | 4)", "3, 4", "3 + 1",
		`"\(3)"`, "@base64 \"x\"", "3 as $y | $y", ". | 3", "[.[]?] | 3", "1 // 2", "if true then 3 else 4 end",
	}
	obj := map[string]any{"a": true, "b": "x"}
	for _, branch := range effort.Some(branches) {
		for _, constant := range constants {
			of := func(form string) []any {
				return run(t, `{"k": 5} as $v | `+strings.NewReplacer("B", "("+branch+")", "C", constant).Replace(form), obj)
			}
			for _, form := range []string{"$in", "$in < 10", "$in == 10", "{k: $in, l: 10}", "if $in then 1 else 2 end"} {
				want := of("[B] | length as $n | [range($n) as $_ | (C) as $in | " + form + "]")
				got := of("[" + strings.ReplaceAll(form, "$in", "(B | C)") + "]")
				require.Equal(t, want, got, "%s, of %s | %s", form, branch, constant)
			}
		}
	}
}

// ints is the object with the integers that gojq takes.
func ints(v any) any {
	switch x := v.(type) {
	case int64:
		return int(x)
	case map[string]any:
		out := map[string]any{}
		for k, e := range x {
			out[k] = ints(e)
		}
		return out
	case []any:
		out := []any{}
		for _, e := range x {
			out = append(out, ints(e))
		}
		return out
	}
	return v
}

// requireSame compares all that can be seen of a program with the reference.
func requireSame(t *testing.T, source string, obj map[string]any) {
	t.Helper()
	before := object.CopyMap(obj)
	want, compileErr, wantErr := reference(source, obj)
	program, err := jq.Compile(source, jq.Options{Steps: 1e8, Size: 1 << 30})
	if compileErr != nil {
		require.Error(t, err, source)
		return
	}
	require.NoError(t, err, source)
	s := &jq.Input{Object: obj, Now: time.Time{}}
	for range 2 { // a Scope can be used again
		got, err := program.Run(s)
		if err != nil && strings.Contains(source, "*") && strings.Contains(err.Error(), "size budget") {
			return // a text times 9007199254740993
		}
		if wantErr != nil {
			require.EqualError(t, err, wantErr.Error(), "%s on %v", source, obj)
			continue
		}
		require.NoError(t, err, "%s on %v", source, obj)
		require.Equal(t, fmt.Sprint(want), fmt.Sprint(got), "%s on %v", source, obj)
		require.True(t, object.DeepEqual(append([]any{}, want...), append([]any{}, got...)) || strings.Contains(fmt.Sprint(want), "NaN"),
			"%s on %v: want %#v, got %#v", source, obj, want, got)
	}
	require.Equal(t, before, obj, "the object is read only")
}

// grammar writes random programs and objects that have much to do with one another.
type grammar struct{ *rand.Rand }

func pick[T any](g grammar, of ...T) T { return of[g.IntN(len(of))] }

func (g grammar) path(depth int) string {
	s := pick(g, ".", ".", ".a", ".b", ".c", `."a/b"`, `.["c"]`, ".[]", ".a[]", ".a.[]", ".[0]", ".a[-1]")
	for range g.IntN(3) {
		s += pick(g, ".a", ".b", ".c", `."a/b"`, "[]", "[0]", "[-1]", "[5]", "[-9]", `["a"]`, "?", ".[]")
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "..", "."), "??", "?")
}

func (g grammar) literal() string {
	return pick(g, "null", "true", "false", "0", "1", "-1", "1.5", `"x"`, `"Ready"`, `""`, "9007199254740993")
}

func (g grammar) quantified(depth int) string {
	name := pick(g, "any", "all")
	return pick(g, name, name+"("+g.query(depth)+")", name+"("+g.path(depth)+"; "+g.query(depth)+")", "map("+g.query(depth)+")")
}

// afterAll is a query that may follow any: gojq 0.12.20 leaves a value on its stack if a constant
// follows an `and` or `or`.
func (g grammar) afterAll(query string) string {
	if strings.HasPrefix(query, ".") || strings.HasPrefix(query, "(.") || strings.HasPrefix(query, "if ") {
		return query
	}
	return g.path(0) + " | " + query
}

func (g grammar) query(depth int) string {
	if depth <= 0 {
		return pick(g, g.path(0), g.path(0), g.literal())
	}
	d := depth - 1
	switch g.IntN(11) {
	case 9:
		return "[" + g.query(d) + "]" + pick(g, "", "[0]", " | length", "[].a")
	case 10:
		return g.path(d) + " | " + g.quantified(d)
	case 0, 1:
		return g.query(d) + " | " + g.afterAll(g.query(d))
	case 2:
		return g.path(d) + " | select(" + g.query(d) + ")"
	case 3:
		return "(" + g.query(d) + ")" + pick(g, " == ", " != ", " < ", " <= ", " > ", " >= ") + "(" + g.query(d) + ")"
	case 4:
		return "(" + g.query(d) + ")" + pick(g, " and ", " or ", " // ") + "(" + g.query(d) + ")"
	case 5:
		return "(" + g.query(d) + ")" + pick(g, " | not", " | length", " | type", "?", ".a?", "[0]?", "[]?", "[]", " | empty")
	case 6:
		return g.path(d) + " | " + pick(g, `has("a")`, "has(0)", `test("R.*")`, `startswith("R")`, `endswith("x")`)
	case 7:
		// Not a constant in both branches: gojq 0.12.20 leaves a value on its stack if another
		// constant follows.
		return "if " + g.query(d) + " then " + g.path(d) + pick(g, "", " else "+g.query(d), " elif . then .a else 2") + " end"
	}
	return g.path(d)
}

// wider adds what only gojq runs.
func (g grammar) wider(depth int) string {
	if depth <= 0 {
		return g.query(1)
	}
	a, b := g.wider(depth-1), g.wider(depth-1)
	switch g.IntN(15) {
	case 10:
		return g.access(a, b)
	case 11:
		return "(" + g.target(a) + ")" + pick(g, " = ", " |= ", " += ", " //= ") + pick(g, "("+b+")", "empty", "(select(.))", "(.., 1)", "(.[0]?)", "[1, 2, 3]")
	case 12:
		return "[path(" + g.target(a) + ")]" + pick(g, "", " | length", "[0]", "[]?")
	case 13:
		return "(" + a + ") as " + pick(g, "[$x, $y]", "{a: $x, b: $y}", `{("a", "b"): $x, $y}`, `{"a\(1)": $x, $y}`, "{(.a): [$x]} ?// $x | 1 as $y", "$x | . as [$y] ?// $y",
			"{$x, $y}", "{(1): $x} ?// $x | 2 as $y") + " | [$x, $y]"
	case 14:
		return g.path(0) + " | " + pick(g, "[paths]", "[paths(type == \"number\")]", "[tostream]", "fromstream(tostream)", "with_entries(.)", "to_entries", "map_values(empty)",
			"map_values(., 1)", "walk(.)", "[limit(2; .[])]", "first(.[])", "[skip(1; .[])]", "nth(1)", "[nth(1; .[])]", "INDEX(type)", "any(.[]; .)", "all(.[]; .)",
			"isempty(.[])", "del(.[0], .a)", "del(.[1:])", "pick(.a)", "[recurse]", "[recurse(.a?; . != null)]", "in({a: 1})", "inside({a: 1})", "[.[]?]", "abs",
			"from_entries", "[combinations]", "getpath([\"a\", 0])", "[getpath([\"a\"], [\"b\"])]", "capture(\"(?<x>.)\")", "match([\"a\", \"g\"])", "test([\"R\", \"i\"])",
			"[match(\"\"; \"g\").offset]", "min_by(.a)", "group_by(.a)", "IN(1, 2)", "[range(0; 3; 2)]", "[while(. != null; .a?)]", "until(true; .)", "splits(\"e\")",
			"[truncate_stream(1; tostream)]", "{a, b}", "{\"a\", \"b\"}", "{(.a): 1}", "{(\"a\", \"b\"): (1, 2)}", "{\"x\": 1}[\"x\"]", "-(.a)", "[.[] as [$a] | $a]", "..",
			"todate", "(. as $d | try error($d) catch .)", "label $f | (1, break $f, 2)", "[foreach .[] as $x (0; . + 1; [., $x])]", "@html", "@uri", "@json")
	case 0:
		return "(" + a + ")" + pick(g, " + ", " - ", " * ", " / ", " % ", " == ", " < ") + "(" + b + ")"
	case 1:
		return "[" + a + "] | " + pick(g, "add", "length", "sort", "unique", "reverse", "flatten", "tojson", "join(\"-\")", "map(type)",
			"min", "max", "first", "last", "any", "all", "transpose", "group_by(.)", "sort_by(type)", "unique_by(length)", "index(1)",
			"contains([1])", "to_entries", "tostring", "implode", "@json", "@csv", "@sh", "@base64", "indices(\"x\")", "min_by(type)")
	case 2:
		return "(" + g.path(0) + ")" + pick(g, " = ", " |= ", " += ", " -= ", " *= ", " /= ", " //= ", " %= ") + "(" + a + ")"
	case 3:
		return `"<\(` + a + `)-\(` + b + `)>"` + pick(g, "", ` | sub("x"; "y", "z")`, ` | gsub("(?<n>[a-z])"; .n + "-")`, ` | split("-")`, " | explode",
			` | [match("a"; "g").offset]`, ` | ascii_upcase`, ` | ltrimstr("<")`, ` | test("x")`, ` | [scan("[a-z]")]`, ` | tonumber`)
	case 4:
		return "try (" + a + ") catch ."
	case 5:
		return "[" + a + " , " + b + "] | " + pick(g, ".[0]", ".[1:]", "map(. // 1)", "[.[] as $x | $x]", "del(.[0])", "[paths]", "[..]")
	case 6:
		return "reduce (" + a + ") as $x (null; " + pick(g, "$x", ". + $x", "[., $x]", "$x // .") + ")"
	case 7:
		return "{a: (" + a + `), "b\(1)": (` + b + ")} | " + pick(g, ".", "keys", "to_entries", "with_entries(.value |= tostring)", "del(.a)",
			"map_values(type)", ". * {a: {z: 1}}", "has(\"b1\")", "pick(.a)", "[tostream]", "fromstream(tostream)", "paths", "add", "delpaths([[\"a\"]])")
	case 8:
		return "def f(g): [g, .]; (" + a + ") | f(type)"
	}
	return pick(g, "error", "error(1)", "[limit(3; ..)]", "first(..)", "[range(3)]", "@text", "tojson | fromjson", "getpath([\"a\", 0])", "setpath([\"a\"]; 1)",
		"isvalid(.a)", "[.[]?]", "input_x", "$x", "ascii", "(now | type)", `"\(.a)"`, `@base64 "x\(.a)"`, `{"\(.b)": 1}`, `."\("a")"`, "path(..)", "[splits(\"a\")]?")
}

// access is an element or a part of something, by keys that are computed.
func (g grammar) access(a, b string) string {
	of := pick(g, ".", ".a", "("+a+")", "["+a+"]", `"aéz"`, "{a: 1, b: [2]}")
	for range 1 + g.IntN(2) {
		of += pick(g, "[("+b+")]", "["+b+":]", "[:"+b+"]", "[(0, 1):("+b+")]", "[0, 1]", "[1:2, 0]", "[]", "[.a]", "[1:]", "[:-1]", "[-1:]", "[1.5]", "[null]",
			"[[1]]", `["a", "b"]`, `[{"start": 0, "end": 1}]`, ".a", `."b"`, `."a\("")"`, "[0]")
		of += pick(g, "", "", "?", "??")
	}
	return strings.ReplaceAll(strings.ReplaceAll(of, "..", "."), ".[:", ".[0:")
}

// target is a path that an update may have.
func (g grammar) target(a string) string {
	return pick(g, g.path(0), g.path(0)+", "+g.path(0), "..", ".[]?", ".a[1:]", ".a[(0, 1)]?", "getpath([\"a\", 0])", ".a[.b]?", "first(.[])", "select(.a)", "recurse",
		".[\"a\"]", ".a[:1], .a", "paths | 1", "(.a | select(.))", "if .a then .b else .c end", ".a // .b", "$__loc__ | .a", "(1 as $x | .a)", "reduce 1 as $x (.; .a)", "empty",
		"limit(1; .a, .b)", "getpath(("+a+") | [tostring])", ".a[0].b", ".[(.a | tostring)]", "error", "(.. | numbers)", "first, last", "to_entries", "map(.a)?")
}

func (g grammar) object(depth int) map[string]any {
	out := map[string]any{}
	for _, k := range []string{"a", "b", "c", "a/b"} {
		if g.IntN(4) > 0 {
			out[k] = g.value(depth)
		}
	}
	return out
}

func (g grammar) value(depth int) any {
	if depth > 0 && g.IntN(2) == 0 {
		if g.IntN(2) == 0 {
			return g.object(depth - 1)
		}
		list := []any{}
		for range g.IntN(4) {
			list = append(list, g.value(depth-1))
		}
		return list
	}
	return pick[any](g, nil, true, false, int64(0), int64(1), int64(-1), int64(9007199254740993), 1.5, 1.0, "", "x", "Ready", "é", "aéb日z")
}

func FuzzNativeIsGojq(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := grammar{rand.New(rand.NewPCG(seed, 1))}
		requireSame(t, g.query(3), g.object(3))
	})
}

// cases is how many programs the tests of native evaluation generate, each from its own seed, from
// 0: -cases 1000000 takes minutes.
var cases = flag.Uint64("cases", uint64(effort.Of(2000)), "how many generated programs to compare with gojq")

func TestGuardedIsGojq(t *testing.T) {
	for seed := range *cases {
		g := grammar{rand.New(rand.NewPCG(seed, 2))}
		requireSame(t, g.wider(2), g.object(3))
	}
}

func TestNativeIsGojq(t *testing.T) {
	for seed := range *cases {
		g := grammar{rand.New(rand.NewPCG(seed, 3))}
		requireSame(t, g.query(1+g.IntN(3)), g.object(3))
	}
}

func FuzzGuardedIsGojq(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := grammar{rand.New(rand.NewPCG(seed, 2))}
		requireSame(t, g.wider(2), g.object(3))
	})
}

func FuzzCompile(f *testing.F) {
	for _, source := range []string{"", ".a", ".a | (", `"\(.a)"`, "é | x", "self.é", `"é" + x`, "a\n.b\n+", "def f: g; f", "$x", `{"\(.a)"}`, "[.[] as [$a] | $a]"} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		s := &jq.Input{Object: pod(), Now: noon}
		p, err := jq.Compile(source, jq.Options{Steps: 1000, Size: 100_000})
		requireInside(t, source, err)
		if err == nil {
			_, _ = p.Run(s)
		}
		require.Equal(t, pod(), s.Object, "the object is read only")
	})
}

// requireInside requires that a fault has a place within the source.
func requireInside(t *testing.T, source string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	at, ok := errors.AsType[*position.Error](err)
	require.True(t, ok, "%v", err)
	require.True(t, -1 <= at.Offset && at.Offset <= len(source), "%d in %q", at.Offset, source)
}
