package jq

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/itchyny/gojq"
	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/internal/dev/race"
	"github.com/stagecraft-go/stagecraft/internal/dev/work"
)

// operations are programs for each function and each form of jq, on a text s, its copy u, a key k
// that are long, lists l, m and t, objects o and p, and a deep list d. TestEveryFunctionIsMeasured
// checks that no function of gojq is missing.
var operations = map[string][]string{
	".[]": {`first(.l[])`, `first(.o[])`, `try (.l[] | error) catch 0`, `[.l[]] | length`}, "..": {`first(..)`, `[..] | length`},
	".[k]": {`.s[-1:]`, `.s[1:2]`, `.s[.n:]`, `.s[(.n):(.n + 1)]`, `.s[0]`, `.s[-1]`, `.s[.n]`, `.o[.k]`, `.o[.k]?`, `.l[[1]]`, `.l[.m[0:9]]`, `.l[1:]`,
		`.l[{"start": 1, "end": 2}]`, `.s as {(0, 1): $x} | $x`, `.o as {(.k): $x} ?// $x | 1`, `try (.s | .[1.5]) catch 1`},
	"{}": {`{(.k): 1}`, `{"\(.k)": 1}`, `{a: .k}`}, "-.": {`-(.n)`}, "\\(x)": {`"\(.s)" | length`, `"\(.o)" | length`, `@html "\(.s)" | length`},
	"+": {`.s + .u | length`, `.l + .m | length`, `.o + .p | length`}, "-": {`.l - .m | length`, `.t - .t | length`}, "*": {`.s * 3 | length`, `.o * .p | length`},
	"/": {`.s / "a" | length`, `.s / "" | length`, `.s / .u | length`}, "%": {`.n % 7`},
	"==": {`.o == .p`, `.l == .m`, `.s == .u`, `.t != .t`}, "<": {`.s < .u`, `.l <= .m`, `.o > .p`, `.d >= .d`},
	"=":  {`.l[0] = 1 | length`, `.o[.k] = 1 | length`, `.l[0:0] = .m | length`, `.d[0] = 1 | length`, `getpath(["a", "b"]) = 1 | length`},
	"|=": {`.l[] |= . | length`, `.zz |= empty | length`, `.l[0:0] |= [1] | length`, `(.l, .l[0]) |= . | length`, `.o[] |= empty | length`},
	"+=": {`.l[0] += 1 | length`, `.s += .u | length`}, "//=": {`.zz //= .l | length`, `.zz[0:0] //= .l | length`},
	"IN/1": {`IN(.l[])`}, "IN/2": {`IN(.l[0]; .m[])`}, "INDEX/1": {`.t | INDEX(.) | length`}, "INDEX/2": {`INDEX(.t[]; .) | length`},
	"JOIN/2": {`. as $x | .t | JOIN($x.o; .) | length`}, "JOIN/3": {`. as $x | [JOIN($x.o; .t[]; .)] | length`}, "JOIN/4": {`. as $x | [JOIN($x.o; .t[]; .; .)] | length`},
	"add/0": {`.l | add`, `.t | add | length`, `[.l, .m] | add | length`, `[.o, .p] | add | length`}, "add/1": {`add(.l[])`},
	"all/0": {`.l | all`}, "all/1": {`.l | all(. < 0)`}, "all/2": {`all(.l[]; . < 0)`}, "any/0": {`.l | any`}, "any/1": {`.l | any(. > 0)`}, "any/2": {`any(.l[]; . > 0)`},
	"arrays/0": {`.l | arrays | length`}, "objects/0": {`.o | objects | length`}, "iterables/0": {`.o | iterables | length`},
	"ascii_downcase/0": {`.s | ascii_downcase | length`}, "ascii_upcase/0": {`.s | ascii_upcase | length`}, "bsearch/1": {`.t | bsearch("zz")`},
	"capture/1": {`.s | [capture("(?<x>a*)")] | length`}, "capture/2": {`.short | [capture("(?<x>a)"; "g")] | length`},
	"combinations/0": {`[.few, .few] | [combinations] | length`}, "combinations/1": {`.few | [combinations(2)] | length`},
	"contains/1": {`.s | contains("b")`, `.t | contains(["z"])`, `.o | contains({z: 1})`}, "inside/1": {`. as $x | "b" | inside($x.s)`},
	"del/1": {`del(.o[]) | length`, `del(.zz) | length`, `del(.l[1:], .l[2:]) | length`}, "delpaths/1": {`delpaths([["l", 0]]) | length`, `delpaths([["s", 0]])?`},
	"endswith/1": {`.s | endswith("b")`}, "startswith/1": {`. as $x | .s | startswith($x.u)`},
	"error/0": {`try (.o | error) catch length`, `try (.s | error) catch length`}, "error/1": {`try error(.o) catch length`},
	"explode/0": {`.s | explode | length`}, "implode/0": {`.l | implode | length`},
	"first/0": {`.l | first`}, "first/1": {`first(.l[])`}, "last/0": {`.l | last`}, "last/1": {`last(.l[])`},
	"flatten/0": {`.d | flatten | length`}, "flatten/1": {`[.l, .m] | flatten(1) | length`},
	"format/1": {`.s | format("base64") | length`, `.s | format(.) ?`}, "@": {`.s | @base64 | length`, `.s | @base64d?`, `.t | @csv | length`, `.t | @tsv | length`,
		`.s | @html | length`, `.s | @uri | length`, `.s | @urid | length`, `.s | @sh | length`, `.o | @json | length`, `.o | @text | length`},
	"from_entries/0": {`[.t[] | {name: ., value: 1}] | from_entries | length`, `[{name: .k}, {name: .k}] | from_entries | length`}, "to_entries/0": {`.o | to_entries | length`, `first(.o | to_entries[])`},
	"with_entries/1": {`.o | with_entries(.) | length`}, "fromdate/0": {`.s | try fromdate catch 1`}, "fromdateiso8601/0": {`.s | try fromdateiso8601 catch 1`},
	"fromjson/0": {`.json | fromjson | length`, `.s | fromjson?`, `"1" + "0" * 900 | fromjson | . + 1 | tostring | length`},
	"tojson/0":   {`.o | tojson | length`, `.s | tojson | length`}, "tostring/0": {`.o | tostring | length`, `.s | tostring | length`},
	"fromstream/1": {`fromstream(.few | tostream) | length`}, "tostream/0": {`[.d | tostream] | length`, `first(.l | tostream)`}, "truncate_stream/1": {`[1 | truncate_stream([[0], 1], [[1, 0], 2])] | length`},
	"getpath/1": {`getpath(["s", 0])?`, `getpath([.t[] | "a"])`, `getpath(["o", .k])`}, "path/1": {`[path(.d | ..)] | length`, `. as $x | try (.s | path($x.u)) catch 1`},
	"paths/0": {`[.d | paths] | length`, `first(.l | paths)`}, "paths/1": {`[.d | paths(type == "number")] | length`}, "pick/1": {`pick(.l[3]) | length`, `pick(.d) | length`},
	"group_by/1": {`.t | group_by(.) | length`}, "sort_by/1": {`.t | sort_by(.) | length`, `. as $x | .few | sort_by($x.s) | length`}, "min_by/1": {`.l | min_by(-.)`}, "max_by/1": {`.l | max_by(-.)`},
	"unique_by/1": {`.t | unique_by(.) | length`}, "sort/0": {`.l | sort | length`, `.t | sort | length`}, "unique/0": {`.l | unique | length`}, "min/0": {`.l | min`}, "max/0": {`.t | max | length`},
	"gsub/2": {`.short | gsub("a"; "x") | length`, `.few2 | gsub("a.*b|a"; "x") | length`}, "gsub/3": {`.short | gsub("A"; "x"; "i") | length`}, "sub/2": {`.s | sub("b"; "x") | length`},
	"sub/3": {`.short | sub("a"; "x"; "g") | length`}, "match/1": {`.s | match("a.*b|a") | .length`, `.short | [match(["a", "g"])] | length`}, "match/2": {`[.short | match("a.*b|a"; "g")] | length`},
	"scan/1": {`[.short | scan("a.*b|a")] | length`}, "scan/2": {`[.short | scan("A"; "i")] | length`}, "split/1": {`.s | split("a") | length`, `.s | split("") | length`, `.s | split(.) | length`},
	"split/2": {`.short | split("a"; null) | length`}, "splits/1": {`[.short | splits("a.*b|a")] | length`}, "splits/2": {`[.short | splits("a"; "i")] | length`},
	"test/1": {`.s | test("(a{0,9})+c")`, `.s | test(["(a{0,9})+c"])`, `. as $x | "a" | test($x.s)?`}, "test/2": {`.s | test("b$"; "i")`, `. as $x | "a" | test("a"; $x.s)?`},
	"has/1": {`. as $x | .o | has($x.k)`, `.l | has(0)`}, "in/1": {`. as $x | .k | in($x.o)`},
	"index/1": {`.l | index(-1)`, `.s | index("b")`, `. as $x | "" | index($x.s)`}, "indices/1": {`.s | indices("a") | length`, `.l | indices([1, 2]) | length`}, "rindex/1": {`.s | rindex("b")`},
	"isempty/1": {`isempty(.l[])`}, "join/1": {`.t | join("-") | length`, `. as $x | .few | join($x.s) | length`}, "keys/0": {`.o | keys | length`, `.l | keys | length`},
	"length/0": {`.s | length`, `.o | length`}, "utf8bytelength/0": {`.s | utf8bytelength`}, "limit/2": {`[limit(2; .l[])] | length`}, "skip/2": {`first(skip(1; .l[]))`},
	"nth/1": {`.s | nth(1)`, `.l | nth(1)`}, "nth/2": {`nth(1; .l[])`}, "ltrim/0": {`.spaces | ltrim | length`}, "rtrim/0": {`.spaces | rtrim | length`}, "trim/0": {`.spaces | trim | length`},
	"ltrimstr/1": {`.s | ltrimstr("b") | length`, `. as $x | .s | ltrimstr($x.u) | length`}, "rtrimstr/1": {`.s | rtrimstr("b") | length`}, "trimstr/1": {`.s | trimstr("a") | length`},
	"map/1": {`.l | map(. + 1) | length`, `.l | try map(error) catch 1`}, "map_values/1": {`.o | map_values(. + 1) | length`, `.o | map_values(empty) | length`},
	"mktime/0": {`.l | try mktime catch 1`}, "range/1": {`[range(.n)] | length`, `first(range(.n))`}, "range/2": {`[range(0; .n)] | length`}, "range/3": {`[range(0; .n; 2)] | length`},
	"recurse/0": {`first(recurse)`}, "recurse/1": {`[.d | recurse(.[]?)] | length`}, "recurse/2": {`[.d | recurse(.[]?; . != 1)] | length`}, "repeat/1": {`first(repeat(.l))`},
	"reverse/0": {`.l | reverse | length`}, "scalars/0": {`.s | scalars | length`}, "strings/0": {`.s | strings | length`}, "select/1": {`select(.l) | length`},
	"setpath/2":  {`setpath(["l", 0]; 1) | length`, `setpath(["l", {start: 0, end: 0}]; .m) | length`, `setpath(["o", .k]; 1) | length`},
	"strftime/1": {`. as $x | 0 | strftime($x.short)`, `0 | strftime("%1000Y" * 50) | length`}, "strflocaltime/1": {`0 | strflocaltime("%A" * 50) | length`}, "strptime/1": {`.s | try strptime("%Y") catch 1`},
	"toboolean/0": {`.s | try toboolean catch 1`}, "tonumber/0": {`.digits | try tonumber catch 1`, `.s | try tonumber catch 1`}, "transpose/0": {`[.l, .m] | transpose | length`},
	"type/0": {`type`}, "until/2": {`.n | until(. <= 0; . - 1)`}, "while/2": {`[.n | while(. > 0; . - 1)] | length`}, "walk/1": {`.d | walk(.) | length`, `.o | walk(.) | length`},
}

// constantWork are the functions whose work does not depend on the size of a value.
var constantWork = strings.Fields(`abs/0 acos/0 acosh/0 asin/0 asinh/0 atan/0 atan2/2 atanh/0 booleans/0 cbrt/0 ceil/0 copysign/2 cos/0 cosh/0 empty/0 erf/0 erfc/0
	exp/0 exp10/0 exp2/0 expm1/0 fabs/0 fdim/2 finites/0 floor/0 fma/3 fmax/2 fmin/2 frexp/0 gamma/0 gmtime/0 hypot/2 infinite/0 isfinite/0
	isinfinite/0 isnan/0 isnormal/0 j0/0 j1/0 ldexp/2 lgamma/0 localtime/0 log/0 log10/0 log1p/0 log2/0 logb/0 modf/0 nan/0 nearbyint/0 nextafter/2 nexttoward/2
	normals/0 not/0 now/0 nulls/0 numbers/0 pow/2 rint/0 round/0 scalb/2 scalbln/2 significand/0 sin/0 sinh/0 sqrt/0 tan/0 tanh/0 tgamma/0 todate/0 todateiso8601/0
	trunc/0 values/0 y0/0 y1/0`)

// hugeNumbers take long, although they are of constant size.
var hugeNumbers = strings.Fields(`fmod/2 remainder/2 drem/2`)

// TestEveryFunctionIsMeasured takes the functions from gojq. A function that a new version of gojq
// has needs a row of the tables above, and a cost in natives if its work is not constant.
func TestEveryFunctionIsMeasured(t *testing.T) {
	rows := slices.Concat(slices.Collect(maps.Keys(operations)), constantWork, hugeNumbers)
	for _, function := range gojqFunctions(t) {
		if name, _, _ := strings.Cut(function, "/"); refusal(name) == "" {
			require.Contains(t, rows, function)
		}
	}
	for _, function := range append(slices.Clone(constantWork), hugeNumbers...) {
		name, arity, _ := strings.Cut(function, "/")
		for _, number := range []string{"1e308", "5e-324", "-1e308", "123456789", "1" + strings.Repeat("0", maxDigits-1)} {
			args := map[string]string{"0": "", "2": "(" + number + "; 5e-324)", "3": "(.; .; 5e-324)"}[arity]
			requireBounded(t, fmt.Sprintf(`%s | try %s%s catch 0`, number, name, args), grown(1, "a"), 100)
		}
	}
}

func gojqFunctions(t testing.TB) (names []string) {
	q, err := gojq.Parse("builtins[]")
	require.NoError(t, err)
	results := q.Run(nil)
	for v, ok := results.Next(); ok; v, ok = results.Next() {
		names = append(names, v.(string))
	}
	require.Greater(t, len(names), 200)
	return names
}

func grown(n int, char string) map[string]any {
	if char == `\xff` {
		char = "\xff"
	}
	s := strings.Repeat(char, 50*n)
	o, p := map[string]any{}, map[string]any{}
	var l, m, t []any
	for i := range n {
		l, m = append(l, int64(i*7919%n)), append(m, int64(i*7919%n))
		t = append(t, strings.Repeat(char, 9)+string(rune('b'+i%20)))
		key := strings.Repeat("a", 1+i/20%50) + fmt.Sprint(i)
		o[key], p[key] = int64(i), int64(i)
	}
	var deep any = int64(1)
	for range n / 40 {
		deep = []any{deep, int64(1)}
	}
	return map[string]any{"s": s, "u": strings.Clone(s), "k": s + "k", "short": strings.Repeat(char, n/20), "few2": strings.Repeat(char, 20), "o": o, "p": p, "l": l, "m": m, "t": t,
		"n": int64(n), "d": []any{deep}, "few": []any{int64(1), int64(2), int64(3)}, "spaces": strings.Repeat(" ", 50*n), "digits": strings.Repeat("9", 50*n),
		"json": "[" + strings.Repeat(`"`+char+`",1,`, n) + `{"a":[]}]`}
}

// A unit of charge is a byte. A step counts as 160 bytes. The bounds are those of a unit on the
// machine on which this was written.
const (
	bytesOfStep     = 160
	timeOfUnit      = 5 * time.Nanosecond
	allocatedOfUnit = 8
)

// evaluated runs a program on an object a number of rounds in one evaluation, and returns its work,
// the least of a number of times, and its charge in units.
func evaluated(source string, in *Input, rounds, times int) (work.Spent, float64) {
	const limit = DefaultSize
	p, err := Compile(fmt.Sprintf(`. as $in | null as $x | [range(%d) | $in | %s] | length`, rounds, source), Options{Steps: DefaultSteps, Size: limit})
	if err != nil || p.native != nil {
		return work.Spent{}, 0
	}
	if in.converted == nil {
		in.converted = toGojq(in.Object)
	}
	spent := work.Measure(times, func() { _, _ = p.Run(in) })
	units := float64(limit-max(0, in.budget.size)) + bytesOfStep*float64(DefaultSteps-max(0, in.budget.steps))
	return spent, units
}

// requireBounded compares the work of a program with its charge.
func requireBounded(t *testing.T, source string, obj map[string]any, rounds int) {
	t.Helper()
	spent, units := evaluated(source, &Input{Object: obj}, rounds, 2)
	require.NotZero(t, units, source)
	perUnit, allocated := float64(spent.Time)/units, float64(spent.Bytes)/units
	t.Logf("%6.2f ns and %5.2f bytes a unit: %.100s", perUnit, allocated, source)
	require.LessOrEqual(t, allocated, float64(allocatedOfUnit), source)
	require.LessOrEqual(t, perUnit, float64(work.Slack*timeOfUnit), source)
}

// TestWorkGrowsNoFasterThanItsCharge runs every operation on texts of characters of one, two and
// three bytes, and of bytes that are no character.
func TestWorkGrowsNoFasterThanItsCharge(t *testing.T) {
	if race.On {
		t.Skip("it would measure the race detector")
	}
	for _, char := range effort.Some(chars) {
		for _, n := range []int{20, 1000} {
			obj := grown(n, char)
			for _, name := range slices.Sorted(maps.Keys(operations)) {
				for _, source := range operations[name] {
					requireBounded(t, source, obj, 8)
				}
			}
		}
	}
}
