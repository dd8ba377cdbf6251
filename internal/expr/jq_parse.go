package expr

import (
	"errors"
	"fmt"
	"strings"

	"github.com/itchyny/gojq"
)

// parseJQ parses a program and refuses what a Stage has no use for.
func parseJQ(source string) (*gojq.Query, error) {
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
	return query, refuse(source, query)
}

// refuse returns a fault for the first name in the program that is refused.
func refuse(source string, query *gojq.Query) error {
	names := namesIn(query)
	for _, t := range identifiers(source) {
		if problem := refusal(t.name); problem != "" && names[t.name] {
			return fault(t.offset, errors.New(problem))
		}
	}
	for name := range names { // one that identifiers does not see
		if problem := refusal(name); problem != "" {
			return fault(-1, errors.New(problem))
		}
	}
	return nil
}

func refusal(name string) string {
	bare := strings.TrimPrefix(name, "$")
	switch {
	case strings.HasPrefix(bare, "__"):
		return name + ": names that begin with two underscores are reserved"
	case refused[name] != "":
		return name + " is not allowed: " + refused[name]
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

// refused are the names that can be neither used nor defined. The internal ones would get around the limits.
var refused = map[string]string{
	"env": noEnvironment, "$ENV": noEnvironment,
	"input": noInput, "inputs": noInput, "input_filename": noInput, "input_line_number": noInput,
	"debug": noConsole, "stderr": noConsole,
	"halt": noHalt, "halt_error": noHalt,
	"modulemeta": "there are no modules", "get_search_list": "there are no modules",
	"builtins": noInternals, "_plus": noInternals, "_negate": noInternals, "_add": noInternals, "_subtract": noInternals,
	"_multiply": noInternals, "_divide": noInternals, "_modulo": noInternals, "_alternative": noInternals,
	"_equal": noInternals, "_notequal": noInternals, "_greater": noInternals, "_less": noInternals,
	"_greatereq": noInternals, "_lesseq": noInternals, "_index": noInternals, "_slice": noInternals,
	"_range": noInternals, "_min_by": noInternals, "_max_by": noInternals, "_sort_by": noInternals,
	"_group_by": noInternals, "_unique_by": noInternals, "_match": noInternals, "_captures": noInternals,
	"_tohtml": noInternals, "_touri": noInternals, "_tourid": noInternals, "_tocsv": noInternals,
	"_totsv": noInternals, "_tosh": noInternals, "_tobase64": noInternals, "_tobase64d": noInternals,
	"_assign": noInternals, "_modify": noInternals, "_last": noInternals,
	"jn": noEnd, "yn": noEnd,
}

// undefinedAt returns where the program uses the first name that neither it nor jq defines, -1 if there is none.
func undefinedAt(source string, query *gojq.Query) int {
	names, defined := namesIn(query), definedIn(query)
	for _, t := range identifiers(source) {
		if names[t.name] && !defined[t.name] && !isBuiltin(t.name) {
			return t.offset
		}
	}
	return -1
}

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

// compileGuarded compiles a program for gojq, under guard.
func compileGuarded(query *gojq.Query) (code *gojq.Code, err error) {
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
	return gojq.Compile(query, append(guards(), gojq.WithModuleLoader(prelude))...)
}
