package jq

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

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

// preludeFor returns the definitions of the functions that a guarded program calls, directly or
// indirectly.
func preludeFor(q *gojq.Query) (prelude, error) {
	needed := callsIn(q)
	var p prelude
	for _, d := range slices.Backward(definitions()) {
		if !needed[d.name] {
			continue
		}
		module, err := gojq.Parse(d.text + " .")
		if err == nil {
			err = guard(module)
		}
		if err != nil {
			return nil, fmt.Errorf("prelude %s: %w", d.name, err)
		}
		for name := range callsIn(module) {
			needed[name] = true
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
	byInput    = "def __%[1]s%[2]s: %[1]s%[2]s; def %[1]s%[2]s: %[3]s($__budget) | __%[1]s%[2]s;"
	byArgument = "def __%[1]s(x): %[1]s(x); def %[1]s(x): %[3]s($__budget; x) as $__x | __%[1]s($__x);"
	byPair     = "def __%[1]s(x; y): %[1]s(x; y); def %[1]s(x; y): %[3]s($__budget; x; y) as [$__x, $__y] | __%[1]s($__x; $__y);"
)

// numeric are the functions of one number. An error has the beginning of the value in it.
const numeric = "acos/0 acosh/0 asin/0 asinh/0 atan/0 atanh/0 cbrt/0 ceil/0 cos/0 cosh/0 erf/0 erfc/0 exp/0 exp10/0 exp2/0 expm1/0 fabs/0 floor/0 " +
	"frexp/0 gamma/0 gmtime/0 j0/0 j1/0 lgamma/0 log/0 log10/0 log1p/0 log2/0 logb/0 modf/0 nearbyint/0 rint/0 round/0 significand/0 sin/0 sinh/0 " +
	"sqrt/0 tan/0 tanh/0 tgamma/0 trunc/0 y0/0 y1/0 mktime/0"

// natives hide the functions that gojq defines in Go and that take more than constant time or memory
// for one step, and functions that read the machine. unlimited has the others.
var natives = slices.Concat(
	charged(byInput, "__shallow", "reverse/0 ltrim/0 rtrim/0 trim/0 length/0 utf8bytelength/0 "+
		"_captures/0 toboolean/0"),
	charged(byInput, "__keys", "keys/0 ascii_downcase/0 ascii_upcase/0"),
	charged(byInput, "__runes", "explode/0"),
	charged(byInput, "__deep", "implode/0 add/0 min/0 max/0 flatten/0 error/0"),
	charged(byInput, "__print", "tojson/0 tostring/0 _tohtml/0 _touri/0 _tourid/0 _tocsv/0 _totsv/0 _tosh/0 _tobase64/0 _tobase64d/0"),
	charged(byInput, "__sort", "sort/0 unique/0"),
	charged(byInput, "__digits", "tonumber/0"),
	charged(byInput, "__parse", "fromjson/0"),
	charged(byInput, "__grid", "transpose/0"),
	charged(byArgument, "__shallow", "startswith/1 endswith/1 ltrimstr/1 rtrimstr/1 trimstr/1"),
	charged(byArgument, "__has", "has/1"),
	charged(byArgument, "__deep", "flatten/1 error/1 bsearch/1"),
	charged(byArgument, "__print", "format/1"),
	charged(byArgument, "__delete", "delpaths/1"),
	charged(byArgument, "__product", "contains/1 inside/1"),
	charged(byArgument, "__split", "split/1"),
	charged(byArgument, "__indices", "index/1 rindex/1 indices/1"),
	charged(byArgument, "__time", "strftime/1 strptime/1"),
	charged(byArgument, "__join", "join/1"),
	charged(byArgument, "__keyed", "_min_by/1 _max_by/1 _sort_by/1 _group_by/1 _unique_by/1"),
	charged(byPair, "__float", "fmod/2 remainder/2 drem/2"),
	charged(byInput, "__number", numeric),
	charged(byPair, "__number", "atan2/2 copysign/2 fdim/2 fmax/2 fmin/2 hypot/2 ldexp/2 nextafter/2 nexttoward/2 pow/2 scalb/2 scalbln/2"),
	[]definition{
		{"now/0", "def now: $__now;"},
		{"localtime/0", "def localtime: gmtime;"},
		{"strflocaltime/1", "def strflocaltime(f): strftime(f);"},
		{"__path/1", "def __path(f): path(f | __text($__budget)) | __shallow($__budget);"},
		{"path/1", "def path(f): __path(f);"},
		{"__getpath/1", "def __getpath(p): getpath(p);"}, // whose path __update has charged
		{"getpath/1", "def getpath(p): __walk($__budget; p) as $__p | __getpath($__p);"},
		{"setpath/2", "def __setpath(p; v): setpath(p; v);" +
			"def setpath(p; v): v as $__v | __update($__budget; p; $__v) as [$__p] | __setpath($__p; $__v);"},
		{"fma/3", "def __fma(x; y; z): fma(x; y; z);" +
			"def fma(x; y; z): __numbers($__budget; x; y; z) as [$__x, $__y, $__z] | __fma($__x; $__y; $__z);"},
		{"_range/3", "def __range(x; y; z): _range(x; y; z);" +
			"def _range(x; y; z): __numbers($__budget; x; y; z) as [$__x, $__y, $__z] | __range($__x; $__y; $__z);"},
		{"_match/3", "def __matched(r; f; t): _match(r; f; t);" +
			"def _match(r; f; t): __match($__budget; r; f; t) | __matched(r; f; t);"},
	},
)

//go:embed builtin.jq
var builtin string

// definitions are natives, and after them the functions that gojq defines in jq.
var definitions = sync.OnceValue(func() []definition {
	q, err := gojq.Parse(builtin + " .")
	if err != nil {
		panic(err) // TestBuiltins
	}
	all := slices.Clone(natives)
	for _, d := range q.FuncDefs {
		all = append(all, definition{d.Name + "/" + strconv.Itoa(len(d.Args)), d.String()})
	}
	return all
})

// charged hides functions by definitions of the given text.
func charged(text, cost, names string) (out []definition) {
	for _, full := range strings.Fields(names) {
		name, arity, _ := strings.Cut(full, "/")
		parameters := map[string]string{"0": "", "1": "(a)", "2": "(a; b)"}[arity]
		out = append(out, definition{full, fmt.Sprintf(text, name, parameters, cost)})
	}
	return out
}
