package jq

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"

	"github.com/stagecraft-go/stagecraft/internal/position"
)

// parse parses a program and refuses what an expression has no use for.
func parse(source string) (*gojq.Query, error) {
	query, err := gojq.Parse(source)
	if parseErr, ok := errors.AsType[*gojq.ParseError](err); ok {
		return nil, fault(max(0, parseErr.Offset-len(parseErr.Token)), err)
	}
	if err != nil {
		return nil, fault(-1, err)
	}
	if query.Meta != nil || len(query.Imports) > 0 {
		return nil, fault(0, errors.New("modules cannot be loaded"))
	}
	if query.Term == nil && query.Right == nil {
		return nil, fault(0, errors.New(`empty program (try ".")`))
	}
	if name, at := first(source, namesIn(query), func(name string) bool { return refusal(name) != "" }); name != "" {
		return nil, fault(at, errors.New(refusal(name)))
	}
	return query, nil
}

// fault places what is wrong at a byte offset of the source text, -1 if the place is unknown.
func fault(offset int, err error) error {
	return &position.Error{Offset: offset, Err: err}
}

// first returns the first name in the source that is wrong, and its offset, -1 if that is unknown.
func first(source string, names map[string]bool, wrong func(string) bool) (found string, at int) {
	at = -1
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !wrong(name) {
			continue
		}
		if i := offsetOf(source, name); found == "" || i >= 0 && (at < 0 || i < at) {
			found, at = name, i
		}
	}
	return found, at
}

// offsetOf returns where a program first uses or defines a name, -1 if that is not found. Texts, fields
// and comments may hold the same letters: it is the name where writing another one there makes that one
// a name of the program.
func offsetOf(source, name string) int {
	other := strings.Repeat("$", strings.Count(name, "$")) + "another_name"
	for at := range len(source) {
		if !strings.HasPrefix(source[at:], name) {
			continue
		}
		query, err := gojq.Parse(source[:at] + other + source[at+len(name):])
		if err == nil && namesIn(query)[other] {
			return at
		}
	}
	return -1
}

func refusal(name string) string {
	bare := strings.TrimPrefix(name, "$")
	switch {
	case strings.HasPrefix(bare, "__"):
		return name + ": names that begin with two underscores are reserved"
	case refused[name] != "":
		return name + " is not allowed: " + refused[name]
	case strings.HasPrefix(name, "_") && isBuiltin(name): // would get around the limits
		return name + " is not allowed: " + noInternals
	}
	return ""
}

const (
	noEnvironment = "an expression has no environment"
	noInput       = "an expression has one input, the object"
	noConsole     = "an expression has no console"
	noHalt        = "an expression cannot end its host"
	noInternals   = "it is internal to gojq"
	noEnd         = "it may run for ever"
)

// refused are the names that can be neither used nor defined.
var refused = map[string]string{
	"env": noEnvironment, "$ENV": noEnvironment,
	"input": noInput, "inputs": noInput, "input_filename": noInput, "input_line_number": noInput,
	"debug": noConsole, "stderr": noConsole,
	"halt": noHalt, "halt_error": noHalt,
	"modulemeta": "there are no modules", "get_search_list": "there are no modules",
	"builtins": noInternals,
	"jn":       noEnd, "yn": noEnd,
}

// undefinedAt returns where the program uses the first name that nobody defines, -1 if there is none.
func (o Options) undefinedAt(source string, query *gojq.Query) int {
	defined := definedIn(query)
	for key := range o.Functions {
		name, _, _ := strings.Cut(key, "/")
		defined[name] = true
	}
	_, at := first(source, namesIn(query), func(name string) bool { return !defined[name] && !isBuiltin(name) })
	return at
}

// functions are the options of gojq for Options.Functions.
func (o Options) functions() ([]gojq.CompilerOption, error) {
	var options []gojq.CompilerOption
	for _, key := range slices.Sorted(maps.Keys(o.Functions)) {
		f := o.Functions[key]
		name, count, _ := strings.Cut(key, "/")
		arity, err := strconv.Atoi(count)
		switch {
		case err != nil || arity < 0 || arity > 30 || !functionName.MatchString(name):
			return nil, fmt.Errorf("Functions[%q]: want a name and the number of arguments, such as double/1", key)
		case refusal(name) != "" || isBuiltin(name):
			return nil, fmt.Errorf("Functions[%q]: jq itself has a function %s", key, name)
		}
		options = append(options, gojq.WithFunction(name, arity, arity, func(input any, args []any) any {
			v := f(input, args)
			if err, failed := v.(error); failed {
				return err
			}
			return toGojq(v)
		}))
	}
	return options, nil
}

var functionName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]*$`)

// isBuiltin reports whether jq has a function of this name, with up to four arguments.
func isBuiltin(name string) bool {
	for n := range 5 {
		f := &gojq.Func{Name: name}
		for range n {
			f.Args = append(f.Args, identity())
		}
		if _, err := gojq.Compile(&gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: f}}); err == nil {
			return true
		}
	}
	return false
}

// compileGuarded compiles a program for gojq, with every operator charging its cost.
func compileGuarded(query *gojq.Query, functions []gojq.CompilerOption) (code *gojq.Code, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("gojq: %v", r)
		}
	}()
	prelude, err := preludeFor(query)
	if err != nil {
		return nil, err
	}
	if err := guard(query); err != nil {
		return nil, err
	}
	return gojq.Compile(query, append(append(guards(), functions...), gojq.WithModuleLoader(prelude))...)
}
