package render

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/position"
)

const (
	defaultSteps   = 1_000_000
	defaultOutput  = 1 << 20
	defaultVersion = "v0.0.0"

	// maxText keeps the recursion of the parser far below the largest stack.
	maxText = 1 << 20

	// rootName is the name of the whole text, as in kwok. text/template prints it before the place of a fault.
	rootName = "_"
)

// Options of Compile. The zero value renders like kwok, within the default limits.
type Options struct {
	// Funcs are functions in the form that text/template takes. They win over all others of the same name. A rendering may begin
	// anew and then calls them again: the results should follow from the arguments.
	Funcs map[string]any
	// Strict makes a missing key an error instead of `<no value>`.
	Strict bool
	// Steps is the budget of one rendering, 0 means 1,000,000. A pass through a loop, an action, and a value or 32 bytes
	// handled by a function are one step each; a template call and a question to the Env are 100.
	Steps int
	// Output is the largest rendered text in bytes, and the largest value in the same measure; 0 means 1 MiB.
	Output int
	// Version is what the function Version returns, "v0.0.0" if empty.
	Version string
	// StartTime is what the function StartTime returns, in RFC 3339 and UTC.
	StartTime time.Time
}

func (o Options) withDefaults() Options {
	if o.Steps <= 0 {
		o.Steps = defaultSteps
	}
	if o.Output <= 0 {
		o.Output = defaultOutput
	}
	if o.Version == "" {
		o.Version = defaultVersion
	}
	return o
}

// Template is a compiled template. It is immutable and safe for concurrent use.
type Template struct {
	text    string // as given to Compile
	start   int    // offset of the first byte that is not space
	options Options
	root    *template.Template // a run that executes it has a clone with functions of its own
	names   []string           // functions that occur in it
	mutates bool               // one of them changes its arguments

	outline *outline  // nil if it has none
	runs    sync.Pool // of *run
}

// Input is what one rendering reads.
type Input struct {
	// Object is the dot of the template, as JSON values with int64 and float64 numbers. It is only read.
	Object map[string]any
	// Now is the time for Now, now and the other functions of the clock.
	Now time.Time
	// Seed decides what the random functions return.
	Seed uint64
	// Env answers for nodes and pods. If nil, every node has the address 10.0.0.1, no other property, and a pod has an
	// address out of 10.128.0.0/9 that follows from its UID, or from namespace and name: stable, but not unique.
	Env Env
}

// Compile parses text, of which space at both ends is ignored. Every fault is a *position.Error with the offset in text;
// several are joined by errors.Join.
func Compile(text string, o Options) (*Template, error) {
	t, c, err := prepared(text, o)
	if err != nil {
		return nil, err
	}
	t.outline = t.outlined(c.trees[rootName])
	return t, t.associate(c.trees)
}

// prepared makes a template that is not associated yet: its trees are in the contents, the counters in them.
func prepared(text string, o Options) (*Template, *contents, error) {
	t := &Template{text: text, options: o.withDefaults(), start: leadingSpace(text)}
	t.runs.New = func() any { return t.newRun() }
	if len(text) > maxText {
		return nil, nil, &position.Error{Offset: -1, Err: fmt.Errorf("template of %d bytes, more than %d", len(text), maxText)}
	}
	if err := checkFuncs(o.Funcs); err != nil {
		return nil, nil, &position.Error{Offset: -1, Err: err}
	}
	trees, err := t.parse()
	if err != nil {
		return nil, nil, err
	}
	c := inspect(trees)
	if err := t.check(c); err != nil {
		return nil, nil, err
	}
	instrument(c, t.mutates)
	return t, c, nil
}

// Text renders to text. Errors are *Error.
func (t *Template) Text(in Input) (string, error) {
	r := t.runs.Get().(*run)
	defer t.release(r)
	end, err := r.execute(in)
	if err != nil {
		return "", t.fault(err)
	}
	if end != nil {
		r.write()
	}
	return string(r.out), nil
}

// Value renders to a JSON value: nil, bool, string, int64, float64, []any and map[string]any. A text that is empty but
// for space and comments gives no value, and ok is false. Errors are *Error; one about the YAML shows the rendered line.
//
// The value is only to be read: renderings share the parts that are the same in all of them, and parts of the object.
func (t *Template) Value(in Input) (v any, ok bool, err error) {
	r := t.runs.Get().(*run)
	defer t.release(r)
	end, err := r.execute(in)
	if err != nil {
		return nil, false, t.fault(err)
	}
	if v, ok = end.value(r); ok {
		return v, true, nil
	}
	if end != nil {
		r.write()
	}
	v, ok, err = parseYAML(string(r.out), t.options.Output, &r.words)
	if err != nil {
		return nil, false, unplaced(err)
	}
	return v, ok, nil
}

// parse skips the parser's own check of function names, in order to find all unknown ones.
func (t *Template) parse() (map[string]*parse.Tree, error) {
	trees := map[string]*parse.Tree{}
	tree := parse.New(rootName)
	tree.Mode = parse.SkipFuncCheck
	if _, err := tree.Parse(strings.TrimSpace(t.text), "", "", trees); err != nil {
		return nil, t.syntaxError(err)
	}
	if trees[rootName] == nil {
		trees[rootName] = tree // text/template leaves an empty tree out
	}
	return trees, nil
}

// check finds the functions of the trees, of which none may be unknown.
func (t *Template) check(c *contents) error {
	var faults []error
	for _, id := range c.functions {
		if !t.known(id.Ident) {
			fault := fmt.Errorf("function %q not defined", id.Ident)
			faults = append(faults, &position.Error{Offset: t.start + int(id.Pos), Err: fault})
		}
	}
	if len(faults) == 1 {
		return faults[0]
	}
	t.names = c.names()
	for _, name := range t.names {
		_, own := t.options.Funcs[name]
		t.mutates = t.mutates || mutators[name] && !own
	}
	return errors.Join(faults...)
}

// associate makes the template that runs are cloned from.
func (t *Template) associate(trees map[string]*parse.Tree) error {
	t.root = template.New(rootName)
	if t.options.Strict {
		t.root.Option("missingkey=error")
	}
	for name, tree := range trees {
		if _, err := t.root.AddParseTree(name, tree); err != nil {
			return &position.Error{Offset: -1, Err: err}
		}
	}
	return nil
}

// syntaxError finds the line that the parser names, all that it tells of the place.
func (t *Template) syntaxError(err error) error {
	line, text := 0, ""
	rest, found := strings.CutPrefix(err.Error(), "template: "+rootName+":")
	if found {
		_, _ = fmt.Sscanf(rest, "%d:", &line)
		_, text, found = strings.Cut(rest, ": ")
	}
	if !found || line == 0 {
		return &position.Error{Offset: -1, Err: err}
	}
	offset := offsetOf(t.text, line+strings.Count(t.text[:t.start], "\n"), 0)
	offset += leadingSpace(t.text[offset:])
	return &position.Error{Offset: min(offset, len(t.text)), Err: &reworded{text, err}}
}

func (t *Template) release(r *run) {
	r.reset()
	t.runs.Put(r)
}

// checkFuncs refuses what text/template panics on, and the names of the functions that we put in.
func checkFuncs(funcs map[string]any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("functions: %v", p)
		}
	}()
	template.New("").Funcs(funcs)
	for _, name := range slices.Sorted(maps.Keys(funcs)) {
		if isTaken(name) {
			return fmt.Errorf("functions: the name %q is taken", name)
		}
	}
	return nil
}

func isTaken(name string) bool {
	return name == callFunc || name == rangeFunc || name == weighFunc
}
