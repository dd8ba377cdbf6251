package expr_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/expr"
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
	c := expr.NewCompiler(expr.Options{})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := c.JQ(tc.source)
			require.NoError(t, err)
			s := expr.NewScope(pod(), noon)
			got, err := p.Outputs(s)
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
	c := expr.NewCompiler(expr.Options{})
	native, err := c.JQ(`.a`)
	require.NoError(t, err)
	other, err := c.JQ(`.a as $x | $x`)
	require.NoError(t, err)
	s := expr.NewScope(map[string]any{"a": int64(1)}, noon)
	for i := range int64(3) {
		s.Reset(map[string]any{"a": i}, noon)
		for _, p := range []*expr.JQ{native, other} {
			got, err := p.Outputs(s)
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
		"a wrong number of arguments":          {`.a | test`, "?", "function not defined: test/0"},
		"a label that does not exist":          {`break $x`, "?", "label not defined"},
		"a token after wide characters":        {`"é世" ]`, "]", "unexpected token"},
		"an escape that is none":               {`"\x"`, `\x`, "invalid escape"},
		"a name beside a comment of that name": {"# nope\nnope", "nope\x00", "function not defined"},
	}
	c := expr.NewCompiler(expr.Options{})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := c.JQ(tc.source)
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

// lastOf is the offset of the last occurrence, for programs that define a name and use it: the first one is at fault.
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
		"a far index set":               `.[500000000] = 1`,
		"a far index updated":           `null | .[500000000] |= 1`,
		"a far index computed":          `null | .[500000000 + 0] = 1`,
		"a far index by setpath":        `setpath([500000000]; 1)`,
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
	c := expr.NewCompiler(expr.Options{})
	for name, source := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := c.JQ(source)
			require.NoError(t, err)
			start := time.Now()
			_, err = p.Outputs(expr.NewScope(nil, noon))
			require.Less(t, time.Since(start), 10*time.Second)
			require.ErrorContains(t, err, "budget of")
			_, again := p.Outputs(expr.NewScope(nil, noon))
			require.EqualError(t, again, err.Error(), "at the same point everywhere")
		})
	}
}

func TestBudgetsAreOptions(t *testing.T) {
	p, err := expr.NewCompiler(expr.Options{Steps: 50}).JQ(`[range(100)]`)
	require.NoError(t, err)
	_, err = p.Outputs(expr.NewScope(nil, noon))
	require.EqualError(t, err, "step budget of 50 exceeded")

	p, err = expr.NewCompiler(expr.Options{Size: 100}).JQ(`"x" * 200`)
	require.NoError(t, err)
	_, err = p.Outputs(expr.NewScope(nil, noon))
	require.EqualError(t, err, "size budget of 100 bytes exceeded")
}

// TestNativeAllocatesNothing holds the subset that real Stages use to its promise.
func TestNativeAllocatesNothing(t *testing.T) {
	c := expr.NewCompiler(expr.Options{})
	s := expr.NewScope(pod(), noon)
	for _, source := range []string{
		`.status.phase`, `.metadata.labels["a"]`, `.metadata.labels."a"`, `.spec.containers[0].args[1]`, `.metadata.deletionTimestamp`,
		`.status.conditions.[] | select( .type == "Ready" ) | .status`, `.status.initContainerStatuses.[]?.state.waiting.reason`,
		`.metadata.generation > 1 and (.kind | test("P.d")) | not`, `.status.podIP // "none"`, `.metadata.name | length`,
	} {
		p, err := c.JQ(source)
		require.NoError(t, err)
		require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = p.Outputs(s) }), source)
	}
}
