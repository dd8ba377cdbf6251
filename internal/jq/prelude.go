package jq

import (
	"fmt"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// definition is a jq function that hides a function of gojq. Its text can use earlier definitions.
type definition struct {
	name string // with the number of arguments: "sort/0"
	text string
}

// prelude are the definitions that a program needs; gojq compiles them in the scope around the
// program.
type prelude []*gojq.Query

// LoadInitModules implements the module loader of gojq.
func (p prelude) LoadInitModules() ([]*gojq.Query, error) { return p, nil }

// preludeFor returns the definitions of the functions that q calls, directly or indirectly.
func preludeFor(q *gojq.Query) (prelude, error) {
	needed := callsIn(q)
	var p prelude
	for _, d := range slices.Backward(definitions) {
		if !needed[d.name] {
			continue
		}
		module, err := gojq.Parse(d.text + " .")
		if err != nil {
			return nil, fmt.Errorf("prelude %s: %w", d.name, err)
		}
		for name := range callsIn(module) {
			needed[name] = true
		}
		if err := guard(module); err != nil {
			return nil, fmt.Errorf("prelude %s: %w", d.name, err)
		}
		p = append(p, module)
	}
	slices.Reverse(p)
	return p, nil
}

// callsIn returns the functions that a program calls, as in definition.name, and more.
func callsIn(q *gojq.Query) map[string]bool {
	calls := namesIn(q)
	calls["tostring/0"] = true // of strings with values in them, and of @text
	walk(q, func(node any) {
		if t, ok := node.(*gojq.Term); ok && t.Format != "" {
			name := t.Format[1:]
			calls["to"+name+"/0"], calls["_to"+name+"/0"], calls["format/1"] = true, true, true
		}
	})
	return calls
}

// Texts of definitions: %[1]s is the name of the function, %[2]s its parameters, %[3]s what
// charges.
const (
	byInput     = "def __%[1]s%[2]s: %[1]s%[2]s; def %[1]s%[2]s: %[3]s($__budget) | __%[1]s%[2]s;"
	byArgument  = "def __%[1]s(x): %[1]s(x); def %[1]s(x): %[3]s($__budget; x) as $__x | __%[1]s($__x);"
	byArgument2 = "def __%[1]s(x; y): %[1]s(x; y); def %[1]s(x; y): %[3]s($__budget; x) as $__x | __%[1]s($__x; y);"
	byKey       = "def %[1]s(f): %[3]s($__budget; map([f])) as $__k | _%[1]s($__k);"
)

// definitions hide functions that take more than constant time or memory for one step of gojq, and
// functions that read the machine.
var definitions = slices.Concat(
	charged(byInput, "__shallow", "keys/0 reverse/0 explode/0 ascii_downcase/0 ascii_upcase/0 ltrim/0 rtrim/0 trim/0 "+
		"length/0 utf8bytelength/0"),
	charged(byInput, "__deep", "tojson/0 tostring/0 implode/0 add/0 min/0 max/0 flatten/0 error/0 "+
		"_tohtml/0 _touri/0 _tourid/0 _tocsv/0 _totsv/0 _tosh/0 _tobase64/0 _tobase64d/0"),
	charged(byInput, "__sort", "sort/0 unique/0"),
	charged(byInput, "__digits", "tonumber/0"),
	charged(byInput, "__parse", "fromjson/0"),
	charged(byInput, "__grid", "transpose/0"),
	charged(byArgument, "__search", "test/1 match/1 capture/1"),
	charged(byArgument, "__scan", "scan/1 splits/1"),
	charged(byArgument2, "__search", "test/2"),
	charged(byArgument2, "__scan", "match/2 capture/2 scan/2 splits/2 split/2"),
	charged(byArgument, "__shallow", "startswith/1 endswith/1 ltrimstr/1 rtrimstr/1 trimstr/1"),
	charged(byArgument, "__deep", "flatten/1 error/1 format/1 bsearch/1 delpaths/1"),
	charged(byArgument, "__product", "contains/1 inside/1 split/1"),
	charged(byArgument, "__indices", "index/1 rindex/1 indices/1"),
	charged(byArgument, "__wide", "strftime/1 strptime/1"),
	charged(byArgument, "__join", "join/1"),
	charged(byKey, "__sort", "min_by/1 max_by/1 sort_by/1 group_by/1 unique_by/1"),
	[]definition{
		{"now/0", "def now: $__now;"},
		{"localtime/0", "def localtime: gmtime;"},
		{"strflocaltime/1", "def strflocaltime(f): strftime(f);"},
		{"setpath/2", "def __setpath(p; v): setpath(p; v);" +
			"def setpath(p; v): v as $__v | __path($__budget; p) as $__p | __setpath($__p; $__v);"},
		{"fromstream/1", "def __fromstream(f): fromstream(f); def fromstream(f): __fromstream(__event($__budget; f));"},
		{"add/1", "def add(f): [f] | add;"},
		{"del/1", "def del(f): delpaths([path(f)]);"},
		{"pick/1", "def pick(f): . as $v | reduce path(f) as $p (null; setpath($p; $v | getpath($p)));"},
		{"IN/1", "def IN(s): any(s == .; .);"},
		{"IN/2", "def IN(src; s): any(src == s; .);"},
		{"sub/3", substitute},
		{"sub/2", "def sub($re; str): sub($re; str; null);"},
		{"gsub/3", `def gsub($re; str; $flags): sub($re; str; $flags + "g");`},
		{"gsub/2", `def gsub($re; str): sub($re; str; "g");`},
	},
)

// substitute joins the pieces between the matches, for each combination of outputs of str as gojq
// orders them.
const substitute = `def sub($re; str; $flags):
	reduce match($re; $flags) as {$offset, $length, $captures} ({s: ., r: []};
		reduce ($captures | _captures | str) as $s (.i = 0; .r[.i] += .s[.next:$offset] + $s | .i += 1)
		| .next = $offset + $length)
	| .r[] + .s[.next:] // .s;`

// charged hides functions by definitions of the given text.
func charged(text, cost, names string) (out []definition) {
	for _, full := range strings.Fields(names) {
		name, arity, _ := strings.Cut(full, "/")
		parameters := map[string]string{"0": "", "1": "(a)", "2": "(a; b)"}[arity]
		out = append(out, definition{full, fmt.Sprintf(text, name, parameters, cost)})
	}
	return out
}
