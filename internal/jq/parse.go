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

// parse parses a program and refuses functions that an expression must not use.
func parse(source string) (*gojq.Query, error) {
	query, err := gojq.Parse(source)
	if parseErr, ok := errors.AsType[*gojq.ParseError](err); ok {
		at := max(0, parseErr.Offset-len(parseErr.Token))
		return nil, fault(at, fmt.Errorf("%w at %s of the program", err, place(source[:at])))
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
	if err := checkNames(source, query); err != nil {
		return nil, err
	}
	return query, nil
}

// place returns the offset after a text in a program, in bytes as in package position.
func place(before string) string {
	return fmt.Sprintf("line %d, column %d", strings.Count(before, "\n")+1, len(before)-strings.LastIndex(before, "\n"))
}

// fault returns an error at a byte offset of the source text; -1 means an unknown place.
func fault(offset int, err error) error {
	return &position.Error{Offset: offset, Err: err}
}

// checkNames returns a fault if a name is refused.
func checkNames(source string, query *gojq.Query) error {
	for _, key := range slices.Sorted(maps.Keys(namesIn(query))) {
		name, _, _ := strings.Cut(key, "/")
		if reason := refusal(name); reason != "" {
			at := offsetOf(source, name, func(changed *gojq.Query, other string) bool {
				return namesIn(changed)[strings.Replace(key, name, other, 1)]
			})
			return fault(at, errors.New(reason))
		}
	}
	return nil
}

// offsetOf returns the offset at which a program first uses a name, or -1. Strings, fields and
// comments can contain the same letters. An occurrence is the name if isUsed is true for the
// program with another name at this place.
func offsetOf(source, name string, isUsed func(changed *gojq.Query, other string) bool) int {
	other := strings.Repeat("$", strings.Count(name, "$")) + "another_name"
	for at := range len(source) {
		if !strings.HasPrefix(source[at:], name) {
			continue
		}
		query, err := gojq.Parse(source[:at] + other + source[at+len(name):])
		if err == nil && isUsed(query, other) {
			return at
		}
	}
	return -1
}

// undefinedAt returns the offset at which the program uses a name that gojq does not know; -1 if
// err is another fault.
func undefinedAt(source string, err error, functions []gojq.CompilerOption) int {
	const undefined = " not defined: "
	_, key, _ := strings.Cut(err.Error(), undefined)
	name, _, _ := strings.Cut(key, "/")
	if name == "" {
		return -1
	}
	return offsetOf(source, name, func(changed *gojq.Query, other string) bool {
		_, err := compileGuarded(changed, functions)
		return err != nil && strings.Contains(err.Error(), undefined+other)
	})
}

// refused are the names that can be neither used nor defined.
var refused = []struct{ names, reason string }{
	{"env $ENV", "an expression has no environment"},
	{"input inputs input_filename input_line_number", "an expression has one input, the object"},
	{"debug stderr", "an expression has no console"},
	{"halt halt_error", "an expression cannot end its host"},
	{"modulemeta get_search_list", "there are no modules"},
	{"builtins", internal},
	{"jn yn", "it may run for ever"},
}

const internal = "it is internal to gojq"

// refusal says why a name is refused, "" if it is not.
func refusal(name string) string {
	if strings.HasPrefix(strings.TrimPrefix(name, "$"), "__") {
		return name + ": names that begin with two underscores are reserved"
	}
	for _, r := range refused {
		if slices.Contains(strings.Fields(r.names), name) {
			return name + " is not allowed: " + r.reason
		}
	}
	if strings.HasPrefix(name, "_") && isBuiltin(name) { // would get around the limits
		return name + " is not allowed: " + internal
	}
	return ""
}

// functions are the options of gojq for Options.Functions.
func (o Options) functions() ([]gojq.CompilerOption, error) {
	var options []gojq.CompilerOption
	for _, key := range slices.Sorted(maps.Keys(o.Functions)) {
		f := o.Functions[key]
		parts := functionKey.FindStringSubmatch(key)
		if parts == nil {
			return nil, fmt.Errorf("Functions[%q]: want a name and the number of arguments, such as double/1", key)
		}
		name := parts[1]
		if refusal(name) != "" || isBuiltin(name) {
			return nil, fmt.Errorf("Functions[%q]: jq itself has a function %s", key, name)
		}
		arity, _ := strconv.Atoi(parts[2]) // these are digits
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

var functionKey = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9_]*)/([0-9]|[12][0-9]|30)$`)

// isBuiltin reports whether jq has a function of this name, with up to four arguments.
func isBuiltin(name string) bool {
	return slices.ContainsFunc([]string{"", "(.)", "(.;.)", "(.;.;.)", "(.;.;.;.)"}, func(args string) bool {
		query, err := gojq.Parse(name + args)
		if err == nil {
			_, err = gojq.Compile(query)
		}
		return err == nil
	})
}

// compileGuarded compiles a program for gojq, with every operator charging its cost.
func compileGuarded(query *gojq.Query, functions []gojq.CompilerOption) (code *gojq.Code, err error) {
	defer recovered(&err)
	if err := guard(query); err != nil {
		return nil, err
	}
	prelude, err := preludeFor(query)
	if err != nil {
		return nil, err
	}
	return gojq.Compile(query, append(append(guards(), functions...), gojq.WithModuleLoader(prelude))...)
}
