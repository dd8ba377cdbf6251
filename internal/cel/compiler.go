package cel

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"

	"github.com/stagecraft-go/stagecraft/internal/position"
)

// Defaults of Options.
const (
	DefaultCost = 100_000
	DefaultSize = 16 << 20
)

// Options of a [Compiler]. The zero value of each field means its default.
type Options struct {
	// Variables are the names that expressions may use, with their types.
	Variables map[string]*types.Type
	// Library adds functions, macros and types.
	Library []cel.EnvOption
	// Rewrite changes an expression between parsing and checking.
	Rewrite func(*ast.AST)

	// Cost limits an evaluation, in steps of about 100 ns; default DefaultCost.
	Cost uint64
	// Costs are the costs of functions of the Library. Without an entry, a function costs the
	// elements and bytes of its arguments, but not the parts of the elements.
	Costs map[string]Cost
	// Size limits the value that a part of an expression builds, in bytes, approximately; default
	// DefaultSize.
	Size int
}

func (o Options) limit() int { return int(min(o.Cost, math.MaxInt)) }

// Compiler compiles expressions over the same variables. It is immutable and safe for concurrent
// use.
type Compiler struct {
	env     *cel.Env
	calls   map[string]*functions.Overload // of env
	options Options
}

// NewCompiler returns a Compiler. The error is about a variable or a Library that cel-go refuses.
func NewCompiler(o Options) (*Compiler, error) {
	options := []cel.EnvOption{
		cel.CustomTypeAdapter(adapter{}), cel.DefaultUTCTimeZone(true), cel.EnableMacroCallTracking(), sortedFunction, keyFunction,
	}
	for name, t := range o.Variables {
		options = append(options, cel.Variable(name, t))
	}
	env, err := cel.NewEnv(append(options, o.Library...)...)
	if err != nil {
		return nil, err
	}
	c := (&Compiler{env: env, calls: map[string]*functions.Overload{}, options: o}).WithLimits(o.Cost, o.Size)
	for _, f := range env.Functions() {
		bindings, err := f.Bindings()
		if err != nil {
			return nil, err
		}
		for _, b := range bindings {
			c.calls[b.Operator] = b
		}
	}
	return c, nil
}

// WithLimits returns a Compiler with the same variables and library, and with the limits of
// Options.
func (c *Compiler) WithLimits(cost uint64, size int) *Compiler {
	other := *c
	other.options.Cost, other.options.Size = cost, size
	if cost == 0 {
		other.options.Cost = DefaultCost
	}
	if size <= 0 {
		other.options.Size = DefaultSize
	}
	return &other
}

// A CompileError is every fault of an expression. It unwraps to one *position.Error for each.
type CompileError struct {
	error  // prints the faults as cel-go does, with the expression above
	faults []error
}

// Unwrap returns the faults.
func (e *CompileError) Unwrap() []error { return e.faults }

// Compile compiles an expression. If wanted is not empty, the type of the result must be one of
// these types, or be known only at run time. The error is a *CompileError.
func (c *Compiler) Compile(source string, want ...*types.Type) (p *Program, err error) {
	defer func() { // cel-go 0.31 panics at {dyn(b"a"): 1}, which it computes when it compiles
		if fault := recover(); fault != nil {
			p, err = nil, Fault("cel-go panics: %v", fault)
		}
	}()
	if strings.TrimSpace(source) == "" {
		return nil, Fault("empty expression")
	}
	parsed, issues := c.env.Parse(source)
	if issues.Err() != nil {
		return nil, newCompileError("parse", source, issues)
	}
	written := ast.Copy(parsed.NativeRep())
	if c.options.Rewrite != nil {
		c.options.Rewrite(parsed.NativeRep())
	}
	sortRanges(parsed.NativeRep())
	wrapKeys(parsed.NativeRep())
	checked, issues := c.env.Check(parsed)
	if issues.Err() != nil {
		return nil, newCompileError("check", source, issues)
	}
	program, err := c.env.Program(checked, cel.EvalOptions(cel.OptOptimize), cel.CustomDecoratorV2(c.metered(checked.NativeRep()).decorate))
	if err != nil {
		return nil, Fault("%w", err)
	}
	if t := checked.OutputType(); !isOneOf(t, want) {
		return nil, Fault("the result is %s, not %s", t, alternatives(want))
	}
	return &Program{program, source, written, c.options}, nil
}

func isOneOf(t *types.Type, want []*types.Type) bool {
	return len(want) == 0 || t.Kind() == types.DynKind || t.Kind() == types.AnyKind || slices.ContainsFunc(want, t.IsExactType)
}

// alternatives prints types as "bool, string or int".
func alternatives(want []*types.Type) string {
	text := ""
	for i, t := range want {
		switch {
		case i > 0 && i == len(want)-1:
			text += " or "
		case i > 0:
			text += ", "
		}
		text += strings.TrimPrefix(strings.ToLower(t.TypeName()), "google.protobuf.")
	}
	return text
}

// Fault is the error of a whole expression.
func Fault(format string, args ...any) *CompileError {
	err := fmt.Errorf(format, args...)
	return &CompileError{err, []error{&position.Error{Offset: 0, Err: err}}}
}

func newCompileError(action, source string, issues *cel.Issues) *CompileError {
	e := &CompileError{error: fmt.Errorf("failed to %s expression: %w", action, issues.Err())}
	for _, i := range issues.Errors() {
		message := strings.TrimSuffix(i.Message, " (in container '')")
		e.faults = append(e.faults, &position.Error{Offset: offset(source, i.Location), Err: errors.New(message)})
	}
	return e
}

// offset turns a line and column into bytes from the start; -1 if unknown.
func offset(source string, at common.Location) int {
	characters, ok := common.NewTextSource(source).LocationOffset(at)
	if !ok {
		return -1
	}
	n := 0
	for range characters {
		_, size := utf8.DecodeRuneInString(source[n:])
		n += size
	}
	return n
}
