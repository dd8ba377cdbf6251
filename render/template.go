package render

import (
	"cmp"
	"sync"
	"text/template"
	"text/template/parse"
	"time"
)

const (
	defaultSteps   = 100_000
	defaultOutput  = 1 << 20
	defaultVersion = "v0.0.0"

	// rootName is the name of the whole text, as in kwok. text/template prints it before the place
	// of a fault.
	rootName = "_"
)

// Options of Compile. The zero value renders like kwok, within the default limits.
type Options struct {
	// Funcs are functions in the form that text/template takes. They replace all others of the same
	// name. A rendering can start a second time and then call them again, so the results should
	// depend only on the arguments.
	Funcs map[string]any
	// MissingKeyError makes a missing key an error, as missingkey=error of text/template does. By
	// default that prints `<no value>`.
	MissingKeyError bool
	// Steps is the budget of one rendering; 0 means 100,000. One step each is charged for a loop
	// iteration, an action, and a value or 32 bytes that a function handles. A template call or a
	// call of the Env costs 10 steps. A regular expression costs a step per byte for each 32 of its
	// states.
	Steps int
	// Output is the largest rendered text in bytes, and the largest value in the same measure; 0
	// means 1 MiB.
	Output int
	// Version is the result of the function Version. Default "v0.0.0".
	Version string
	// StartTime is the result of the function StartTime, which prints it in RFC 3339 and UTC.
	StartTime time.Time
}

func (o Options) withDefaults() Options {
	o.Steps = cmp.Or(max(o.Steps, 0), defaultSteps)
	o.Output = cmp.Or(max(o.Output, 0), defaultOutput)
	o.Version = cmp.Or(o.Version, defaultVersion)
	return o
}

// Template is a compiled template. It is immutable and safe for concurrent use.
type Template struct {
	text    string // as given to Compile
	start   int    // offset of the first byte that is not space
	options Options
	root    *template.Template // the form of text/template; each state executes a clone with its own functions
	names   []string           // functions that occur in it
	mutates bool               // one of them changes its arguments

	program *definition // nil if it has none
	states  sync.Pool   // of *state
}

// Input is what one rendering reads.
type Input struct {
	// Object is the dot of the template, as JSON values with int64 and float64 numbers. It is only
	// read.
	Object map[string]any
	// Now is the time for Now, now and the other functions of the clock.
	Now time.Time
	// Seed decides the results of the random functions.
	Seed uint64
	// Env answers for nodes and pods. If nil, every node has only the address 10.0.0.1. A pod has
	// an address in 10.128.0.0/9 that follows from its UID, or from its namespace and name: stable,
	// but not unique.
	Env Env
}

// Compile parses text, ignoring white space at both ends. Every fault is an *Error with its place
// in text; errors.Join joins several faults.
func Compile(text string, o Options) (*Template, error) {
	t, trees, err := parsed(text, o)
	if err != nil {
		return nil, err
	}
	t.program = t.compile(trees)
	return t, t.associate(trees)
}

// parsed is a template that has neither a program nor text/template's form yet.
func parsed(text string, o Options) (*Template, map[string]*parse.Tree, error) {
	t := &Template{text: text, options: o.withDefaults(), start: leadingSpace(text)}
	t.states.New = func() any { return t.newState() }
	trees, err := t.parse()
	return t, trees, err
}

// Text renders to text. Errors are *Error.
func (t *Template) Text(in Input) (string, error) {
	s := t.states.Get().(*state)
	defer t.states.Put(s)
	defer s.reset()
	if err := s.execute(in); err != nil {
		return "", t.fault(err)
	}
	return string(s.out), nil
}

// Value renders to a JSON value: nil, bool, string, int64, float64, []any and map[string]any. If
// the rendered text has only white space and comments, ok is false. Errors are *Error; an error
// about the YAML shows the rendered line.
//
// The value shares nothing that can be changed with the object and other renderings.
func (t *Template) Value(in Input) (v any, ok bool, err error) {
	s := t.states.Get().(*state)
	defer t.states.Put(s)
	defer s.reset()
	if err := s.execute(in); err != nil {
		return nil, false, t.fault(err)
	}
	text := string(s.out)
	v, ok, err = s.parser.Parse(text, t.options.Output)
	if err != nil {
		return nil, false, unplaced(t.yamlError(text, err))
	}
	return v, ok, nil
}
