package jq

import (
	"fmt"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// definition is a jq function that hides one of gojq's. Its text may use those before it.
type definition struct {
	name string // with the number of arguments: "sort/0"
	text string
}

// prelude are the definitions that a program needs; gojq compiles them in the scope around the program.
type prelude []*gojq.Query

// LoadInitModules implements what gojq wants of a module loader.
func (p prelude) LoadInitModules() ([]*gojq.Query, error) { return p, nil }

// preludeFor returns the definitions for the functions that q calls, and for those that they call.
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

// callsIn returns the functions that a program calls, as in definition.name.
func callsIn(q *gojq.Query) map[string]bool {
	calls := map[string]bool{}
	walk(q, func(node any) {
		switch x := node.(type) {
		case *gojq.Func:
			calls[fmt.Sprintf("%s/%d", x.Name, len(x.Args))] = true
		case *gojq.Term:
			if x.Format != "" {
				calls[formats[x.Format]] = true
				calls["format/1"] = true
			}
		}
	})
	calls["tostring/0"] = true // of strings with values in them
	return calls
}

var formats = map[string]string{
	"@text": "tostring/0", "@json": "tojson/0", "@html": "_tohtml/0", "@uri": "_touri/0", "@urid": "_tourid/0",
	"@csv": "_tocsv/0", "@tsv": "_totsv/0", "@sh": "_tosh/0", "@base64": "_tobase64/0", "@base64d": "_tobase64d/0",
}

// definitions hide what takes more than constant time or memory for one step of gojq, and what reads the machine.
var definitions = slices.Concat(
	charged("__shallow", "keys/0 reverse/0 explode/0 ascii_downcase/0 ascii_upcase/0 ltrim/0 rtrim/0 trim/0 length/0 utf8bytelength/0 test/1 test/2"),
	charged("__deep", "tojson/0 tostring/0 implode/0 add/0 sort/0 unique/0 min/0 max/0 flatten/0 error/0 "+
		"_tohtml/0 _touri/0 _tourid/0 _tocsv/0 _totsv/0 _tosh/0 _tobase64/0 _tobase64d/0"),
	charged("__digits", "tonumber/0"),
	charged("__parse", "fromjson/0"),
	charged("__grid", "transpose/0"),
	charged("__square", "match/1 match/2 capture/1 capture/2 scan/1 scan/2 splits/1 splits/2 split/2"),
	chargedByArgument("__shallow", "startswith endswith ltrimstr rtrimstr trimstr"),
	chargedByArgument("__deep", "flatten error format bsearch delpaths"),
	chargedByArgument("__product", "contains inside index rindex indices split"),
	chargedByArgument("__wide", "strftime strptime"),
	chargedByArgument("__join", "join"),
	keyed("min_by max_by sort_by group_by unique_by"),
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

// substitute joins the pieces between the matches, for each combination of outputs of str as gojq orders them.
const substitute = `def sub($re; str; $flags):
	reduce match($re; $flags) as {$offset, $length, $captures} ({s: ., r: []};
		reduce ($captures | _captures | str) as $s (.i = 0; .r[.i] += .s[.next:$offset] + $s | .i += 1)
		| .next = $offset + $length)
	| .r[] + .s[.next:] // .s;`

// charged hides functions whose cost is known from their input.
func charged(cost, names string) (out []definition) {
	for _, full := range strings.Fields(names) {
		name, arity, _ := strings.Cut(full, "/")
		args := map[string]string{"0": "", "1": "(a)", "2": "(a; b)"}[arity]
		out = append(out, definition{full, fmt.Sprintf(
			"def __%[1]s%[2]s: %[1]s%[2]s; def %[1]s%[2]s: %[3]s($__budget) | __%[1]s%[2]s;", name, args, cost)})
	}
	return out
}

// chargedByArgument hides functions whose cost depends on their only argument too.
func chargedByArgument(cost, names string) (out []definition) {
	for _, name := range strings.Fields(names) {
		out = append(out, definition{name + "/1", fmt.Sprintf(
			"def __%[1]s(x): %[1]s(x); def %[1]s(x): %[2]s($__budget; x) as $__x | __%[1]s($__x);", name, cost)})
	}
	return out
}

// keyed hides functions that compare the elements of a list by a key.
func keyed(names string) []definition {
	var out []definition
	for _, name := range strings.Fields(names) {
		out = append(out, definition{name + "/1", fmt.Sprintf(
			"def %[1]s(f): __deep($__budget; map([f])) as $__k | _%[1]s($__k);", name)})
	}
	return out
}
