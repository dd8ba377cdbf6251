package jq_test

import (
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/race"
	"github.com/stagecraft-go/stagecraft/internal/jq"
	"github.com/stagecraft-go/stagecraft/internal/position"
)

func TestJQOutputs(t *testing.T) {
	cases := map[string]struct {
		source string
		want   []any
	}{
		"a field":                          {`.status.phase`, []any{"Running"}},
		"a missing field is null":          {`.status.podIP`, []any{nil}},
		"a field of null is null":          {`.nope.x.y`, []any{nil}},
		"a quoted key":                     {`.metadata.labels."a"`, []any{"1"}},
		"a key in brackets":                {`.metadata.labels["a"]`, []any{"1"}},
		"an element":                       {`.spec.containers[0].args[1]`, []any{"10s"}},
		"the last element":                 {`.spec.containers[0].args[-1]`, []any{"10s"}},
		"an element that is not there":     {`.spec.containers[0].args[7]`, []any{nil}},
		"iteration as in kwok's stages":    {`.status.conditions.[].type`, []any{"Initialized", "Ready"}},
		"select as in kwok's stages":       {`.status.conditions.[] | select( .type == "Ready" ) | .status`, []any{"True"}},
		"a map is iterated in order":       {`.metadata.labels[]`, []any{"1", "2", "3", "4"}},
		"a typed map is a map":             {`.metadata.typed.a`, []any{"1"}},
		"a typed list is a list":           {`.metadata.finalizers.[]`, []any{"x", "y"}},
		"int64 stays int64":                {`.metadata.generation`, []any{int64(2)}},
		"a json.Number is a number":        {`.spec.number`, []any{int64(3)}},
		"length":                           {`.metadata.name | length`, []any{int64(3)}},
		"nothing is no output":             {`empty`, nil},
		"an error that is caught":          {`.kind[]?`, nil},
		"the time is the Scope's":          {`now | todate`, []any{"2026-11-20T12:00:00Z"}},
		"local time is UTC":                {`now | localtime | mktime | strflocaltime("%H:%M %Z")`, []any{"12:00 UTC"}},
		"a function that is defined":       {`def f(x): x + 1; f(.metadata.generation)`, []any{int64(3)}},
		"a definition that hides a guard":  {`def length: "mine"; .kind | length`, []any{"mine"}},
		"a definition that hides now":      {`def now: 1; now`, []any{int64(1)}},
		"several outputs":                  {`.metadata.generation, .kind`, []any{int64(2), "Pod"}},
		"an object is made":                {`{a: .kind}`, []any{map[string]any{"a": "Pod"}}},
		"a string with values in it":       {`"\(.kind)/\(.metadata.name)"`, []any{"Pod/web"}},
		"a string with values, formatted":  {`@base64 "x\(.kind)"`, []any{"xUG9k"}},
		"an update":                        {`.metadata.labels | .a += "!" | .a`, []any{"1!"}},
		"an update of all":                 {`[.metadata.labels | .[] |= . + "!" | .[]]`, []any{[]any{"1!", "2!", "3!", "4!"}}},
		"a substitution":                   {`.status.phase | gsub("n"; "m")`, []any{"Rummimg"}},
		"a trap: this is a subtraction":    {`.metadata.nope - 1 | tostring?`, nil},
		"comments are comments":            {"# env\n.kind # $ENV", []any{"Pod"}},
		"fields may be called as they are": {`.env, .input, .halt.debug`, []any{nil, nil, nil}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := jq.Compile(tc.source, jq.Options{})
			require.NoError(t, err)
			s := &jq.Input{Object: pod(), Now: noon}
			got, err := p.Run(s)
			if name == "a trap: this is a subtraction" {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, append([]any(nil), got...))
			require.Equal(t, pod(), s.Object, "the object is read only")
		})
	}
}

func TestResetMakesANewScope(t *testing.T) {
	native, err := jq.Compile(`.a`, jq.Options{})
	require.NoError(t, err)
	other, err := jq.Compile(`.a as $x | $x`, jq.Options{})
	require.NoError(t, err)
	s := &jq.Input{Object: map[string]any{"a": int64(1)}, Now: noon}
	for i := range int64(3) {
		s.Reset(map[string]any{"a": i}, noon)
		for _, p := range []*jq.Program{native, other} {
			got, err := p.Run(s)
			require.NoError(t, err)
			require.Equal(t, []any{i}, got)
		}
	}
}

func TestJQFaults(t *testing.T) {
	cases := map[string]struct{ source, token, says string }{
		"an operator that is none":             {`.status.phase ||`, "|", "unexpected token"},
		"a program that ends early":            {`.a | select(`, "", "unexpected EOF"},
		"a string that does not end":           {`.a == "x`, "", "unterminated string"},
		"a function that does not exist":       {`.a | lenght`, "lenght", "function not defined: lenght/0"},
		"a variable that does not exist":       {`.a == $x`, "$x", "variable not defined: $x"},
		"a name within a string":               {`"é lenght \(.a | lenght)"`, "lenght)", "function not defined"},
		"a field of the same name before":      {`.lenght | lenght`, "lenght", "function not defined"},
		"an empty program":                     {``, "", "empty program"},
		"a comment alone":                      {`# .a`, "# .a", "empty program"},
		"a module":                             {`include "x"; .a`, "include", "modules cannot be loaded"},
		"an import":                            {`import "x" as x; .a`, "import", "modules cannot be loaded"},
		"the environment":                      {`.a | env.HOME`, "env", "env is not allowed"},
		"the environment as a variable":        {`$ENV.HOME`, "$ENV", "$ENV is not allowed"},
		"input":                                {`[., input]`, "input", "input is not allowed"},
		"inputs":                               {`[inputs]`, "inputs", "inputs is not allowed"},
		"debug":                                {`.a | debug`, "debug", "debug is not allowed"},
		"halt":                                 {`halt`, "halt", "halt is not allowed"},
		"what is internal":                     {`_multiply("x"; 9)`, "_multiply", "not allowed"},
		"a definition of what is refused":      {`def jn(a; b): 1; jn(1; 1)`, "jn", "not allowed"},
		"our own variables":                    {`$__budget`, "$__budget", "reserved"},
		"our own functions":                    {`def __walk: 1; __walk`, "__walk", "reserved"},
		"an interpolated key without a value":  {`{"\(.a)"}`, "?", "needs a value"},
		"a wrong number of arguments":          {`.a | test`, "test", "function not defined: test/0"},
		"a label that does not exist":          {`break $x`, "$x", "label not defined"},
		"a token after wide characters":        {`"é世" ]`, "]", "unexpected token"},
		"an escape that is none":               {`"\x"`, `\x`, "invalid escape"},
		"a name defined elsewhere":             {`(def h: 1; h) | h`, "h", "function not defined: h/0"},
		"a function with other arguments":      {`test("h") | test`, "test", "function not defined: test/0"},
		"a name beside a comment of that name": {"# nope\nnope", "nope\x00", "function not defined"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := jq.Compile(tc.source, jq.Options{})
			at, ok := errors.AsType[*position.Error](err)
			require.True(t, ok, "%v", err)
			require.ErrorContains(t, at, tc.says)
			switch tc.token {
			case "":
				require.Equal(t, len(tc.source), at.Offset)
			case "?":
				require.Equal(t, -1, at.Offset)
			default:
				require.Equal(t, strings.LastIndex(tc.source, strings.TrimSuffix(tc.token, "\x00")), max(at.Offset, lastOf(tc.source, tc.token, at.Offset)))
			}
		})
	}
}

// lastOf is the offset of the last occurrence, for programs that define a name and use it: the
// first one is at fault.
func lastOf(source, token string, offset int) int {
	if strings.HasPrefix(source[max(0, offset):], token) {
		return strings.LastIndex(source, token)
	}
	return -1
}

// TestJQEnds runs what would take all memory or all time.
func TestJQEnds(t *testing.T) {
	cases := map[string]string{
		"a loop":                        `def f: f; f`,
		"a long range":                  `[range(1e9)]`,
		"repeat":                        `[limit(1e9; repeat(1))]`,
		"a string repeated":             `"x" * 1e9 | length`,
		"a string repeated, reversed":   `1e9 * "x" | length`,
		"a string doubled":              `reduce range(40) as $i ("x"; . + .)`,
		"a string doubled by update":    `reduce range(40) as $i ({a: "x"}; .a += .a)`,
		"a string doubled in a string":  `reduce range(40) as $i ("x"; "\(.)\(.)")`,
		"a string doubled in a key":     `reduce range(40) as $i ("x"; {"\(.)\(.)": 1} | keys[0])`,
		"a list doubled":                `reduce range(40) as $i ([1]; . + .)`,
		"shared lists printed":          `reduce range(40) as $i (1; [., .]) | tojson`,
		"shared lists compared":         `reduce range(40) as $i (1; [., .]) | . == .`,
		"shared lists flattened":        `reduce range(40) as $i (1; [., .]) | flatten`,
		"shared lists as an error":      `reduce range(40) as $i (1; [., .]) | error`,
		"shared lists sorted":           `[reduce range(40) as $i (1; [., .]), reduce range(40) as $i (1; [., .])] | sort`,
		"shared lists deleted from":     `reduce range(40) as $i (1; [., .]) | del(.[0])`,
		"shared lists as output":        `reduce range(40) as $i (1; [., .])`,
		"a far index set":               `null | .[500000000] = 1`,
		"a far index updated":           `null | .[500000000] |= 1`,
		"a far index computed":          `null | .[500000000 + 0] = 1`,
		"a far index by setpath":        `null | setpath([500000000]; 1)`,
		"a far index by getpath":        `null | getpath([500000000]) = 1`,
		"a far index streamed":          `fromstream([[500000000], 1])`,
		"join of long strings":          `[range(1000) | "x" * 10000] | join("x" * 10000)`,
		"add of long strings":           `("x" * 1000000) as $s | [range(1000) | $s] | add`,
		"gsub that grows":               `("x" * 1000) as $s | $s | gsub("x"; $s) | gsub("x"; $s)`,
		"all matches":                   `("x" * 1000000) | [match(""; "g")] | length`,
		"escapes escaped":               `reduce range(60) as $i ("\""; tojson)`,
		"big numbers":                   `reduce range(60) as $i (99999999999999999999; . * .)`,
		"transposed":                    `[[range(10000)], (range(10000) | [])] | transpose | length`,
		"subtracted":                    `[range(20000)] as $a | $a - [range(20000; 40000)] | length`,
		"a deep list":                   `reduce range(1000000) as $i (1; [.])`,
		"a caught limit":                `try ("x" * 1e9) catch "caught"`,
		"a limit beside an alternative": `("x" * 1e9)? // "caught"`,
		"digits":                        `"9" * 1000000 | tonumber | . + 1`,
	}
	for name, source := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := jq.Compile(source, jq.Options{})
			require.NoError(t, err)
			start := time.Now()
			_, err = p.Run(&jq.Input{Object: nil, Now: noon})
			require.Less(t, time.Since(start), 10*time.Second)
			require.ErrorContains(t, err, "budget of")
			_, again := p.Run(&jq.Input{Object: nil, Now: noon})
			require.EqualError(t, again, err.Error(), "at the same point everywhere")
		})
	}
}

func TestBudgetsAreOptions(t *testing.T) {
	p, err := jq.Compile(`[range(100)]`, jq.Options{Steps: 50})
	require.NoError(t, err)
	_, err = p.Run(&jq.Input{Object: nil, Now: noon})
	require.EqualError(t, err, "step budget of 50 exceeded")

	p, err = jq.Compile(`"x" * 200`, jq.Options{Size: 100})
	require.NoError(t, err)
	_, err = p.Run(&jq.Input{Object: nil, Now: noon})
	require.EqualError(t, err, "size budget of 100 bytes exceeded")
}

// TestNativeAllocatesNothing holds the subset that real Stages use to its promise.
func TestNativeAllocatesNothing(t *testing.T) {
	s := &jq.Input{Object: pod(), Now: noon}
	for _, source := range []string{
		`.status.phase`, `.metadata.labels["a"]`, `.metadata.labels."a"`, `.spec.containers[0].args[1]`, `.metadata.deletionTimestamp`,
		`.status.conditions.[] | select( .type == "Ready" ) | .status`, `.status.initContainerStatuses.[]?.state.waiting.reason`,
		`.metadata.generation > 1`,
	} {
		p, err := jq.Compile(source, jq.Options{})
		require.NoError(t, err)
		require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = p.Run(s) }), source)
	}
}

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func pod() map[string]any {
	return map[string]any{
		"kind": "Pod",
		"metadata": map[string]any{
			"name": "web", "generation": int64(2), "creationTimestamp": "2026-11-20T11:59:30Z",
			"labels": map[string]any{"b": "2", "a": "1", "d": "4", "c": "3"},
			"typed":  map[string]string{"a": "1"}, "finalizers": []string{"x", "y"},
		},
		"spec": map[string]any{
			"float": 2.0, "number": json.Number("3"), "int32": int32(4), "uint8": uint8(5),
			"containers": []any{map[string]any{"name": "app", "args": []any{"sleep", "10s"}}},
			"maps":       []map[string]any{{"n": json.Number("1.5")}},
		},
		"status": map[string]any{
			"phase": "Running",
			"conditions": []any{
				map[string]any{"type": "Initialized", "status": "True"},
				map[string]any{"type": "Ready", "status": "True"},
			},
		},
	}
}

func TestNumbersOfAnyKind(t *testing.T) {
	for _, n := range []any{7, int8(7), int16(7), int32(7), int64(7), uint(7), uint8(7), uint16(7), uint32(7), uint64(7), float32(7), 7.0, json.Number("7")} {
		s := &jq.Input{Object: map[string]any{"n": n, "list": []any{n}}, Now: noon}
		for _, source := range []string{".n == 7 and .list[0] == 7", "[.n, .list[]] == [7, 7]"} {
			q, err := jq.Compile(source, jq.Options{})
			require.NoError(t, err)
			got, err := q.Run(s)
			require.NoError(t, err)
			require.Equal(t, []any{true}, got, "%s of %T", source, n)
		}
	}
}

func TestLargeNumbersKeepTheirDigits(t *testing.T) {
	cases := map[string]struct{ in, want any }{
		"the largest int64":      {int64(math.MaxInt64), int64(math.MaxInt64)},
		"the smallest int64":     {int64(math.MinInt64), int64(math.MinInt64)},
		"a uint64 beyond int64":  {uint64(math.MaxUint64), json.Number("18446744073709551615")},
		"a number beyond uint64": {json.Number("99999999999999999999"), json.Number("99999999999999999999")},
		"a decimal":              {json.Number("1.5"), 1.5},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &jq.Input{Object: map[string]any{"n": tc.in}, Now: noon}
			for _, source := range []string{".n", ". as $x | $x.n"} {
				q, err := jq.Compile(source, jq.Options{})
				require.NoError(t, err)
				got, err := q.Run(s)
				require.NoError(t, err)
				require.Equal(t, []any{tc.want}, got, source)
			}
		})
	}
}

func TestProgramsAreSafeForConcurrentUse(t *testing.T) {
	q, err := jq.Compile(`[.metadata.labels | to_entries[].key] | join(",")`, jq.Options{})
	require.NoError(t, err)
	shared := pod()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				got, err := q.Run(&jq.Input{Object: shared, Now: noon})
				require.NoError(t, err)
				require.Equal(t, []any{"a,b,c,d"}, got)
			}
		})
	}
	wg.Wait()
}

// gojq keeps every pattern that a program has ever used, and objects bring their own: 2,000 that
// would fill 150 MB if they were kept.
func TestPatternsOfObjectsAreForgotten(t *testing.T) {
	if race.On {
		t.Skip("it is about work and memory, and takes many times as long with the race detector")
	}
	q, err := jq.Compile(`.pattern as $p | "a" | test($p)`, jq.Options{})
	require.NoError(t, err)
	before := liveBytes()
	for i := range 2000 {
		pattern := strings.Repeat("(a|b)?", 100) + strconv.Itoa(i)
		_, err := q.Run(&jq.Input{Object: map[string]any{"pattern": pattern}, Now: noon})
		require.NoError(t, err)
	}
	require.Less(t, liveBytes()-before, int64(60<<20))
	runtime.KeepAlive(q)
}

// liveBytes is the size of the live heap after a garbage collection.
func liveBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestFunctions(t *testing.T) {
	functions := map[string]func(any, []any) any{
		"double/0": func(input any, _ []any) any { return 2 * input.(int) },
		"plus/1":   func(input any, args []any) any { return int64(input.(int) + args[0].(int)) },
		"fail/0":   func(any, []any) any { return errors.New("it failed") },
	}
	p, err := jq.Compile(`.metadata.generation | double | plus(1), (try fail catch .)`, jq.Options{Functions: functions})
	require.NoError(t, err)
	got, err := p.Run(&jq.Input{Object: pod()})
	require.NoError(t, err)
	require.Equal(t, []any{int64(5), "it failed"}, got)

	p, err = jq.Compile(`.kind | double`, jq.Options{Functions: functions})
	require.NoError(t, err)
	_, err = p.Run(&jq.Input{Object: pod()})
	require.ErrorContains(t, err, "interface conversion", "a panic is an error of the run")

	_, err = jq.Compile(`1 as $x | nope + double`, jq.Options{Functions: functions})
	at, ok := errors.AsType[*position.Error](err)
	require.True(t, ok)
	require.Equal(t, len("1 as $x | "), at.Offset)
	for _, name := range []string{"length/0", "env/0", "__f/0", "_f/0", "f", "f/x", "f/31", "a b/0", "/0"} {
		_, err := jq.Compile(`1 as $x | $x`, jq.Options{Functions: map[string]func(any, []any) any{name: nil}})
		require.ErrorContains(t, err, "Functions["+`"`+name+`"]`)
	}
}

func BenchmarkRun(b *testing.B) {
	for name, source := range map[string]string{
		"phase": `.status.phase`, "conditions": `.status.conditions.[] | select(.type == "Ready") | .status`,
		"conditions by gojq": `.status.conditions.[] as $c | $c | select(.type == "Ready") | .status`,
	} {
		b.Run(name, func(b *testing.B) {
			p, err := jq.Compile(source, jq.Options{})
			require.NoError(b, err)
			obj, in := pod(), &jq.Input{}
			b.ReportAllocs()
			for b.Loop() {
				in.Reset(obj, noon)
				if _, err := p.Run(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for name, source := range map[string]string{"native": `.status.phase`, "gojq": `.a as $x | $x + 1`} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := jq.Compile(source, jq.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
