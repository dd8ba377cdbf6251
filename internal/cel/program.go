package expr

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Kinds are types that the result of a CEL expression may have, joined by |.
type Kinds uint

// The kinds of results. Value returns them as bool, string, int64, uint64, float64, time.Duration and time.Time.
const (
	Bool Kinds = 1 << iota
	String
	Int
	Uint
	Double
	Duration
	Timestamp
)

// kinds are in the order of the constants.
var kinds = [...]struct {
	name string
	typ  *cel.Type
}{
	{"bool", cel.BoolType},
	{"string", cel.StringType},
	{"int", cel.IntType},
	{"uint", cel.UintType},
	{"double", cel.DoubleType},
	{"duration", cel.DurationType},
	{"timestamp", cel.TimestampType},
}

func (k Kinds) has(t *cel.Type) bool {
	for i, kind := range kinds {
		if kind.typ.IsExactType(t) {
			return k&(1<<i) != 0
		}
	}
	return t.Kind() == types.DynKind || t.Kind() == types.AnyKind
}

// String lists the kinds: "bool, string or int".
func (k Kinds) String() string {
	var names []string
	for i, kind := range kinds {
		if k&(1<<i) != 0 {
			names = append(names, kind.name)
		}
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " or " + names[last]
	}
	return strings.Join(names, "")
}

// CEL is a compiled CEL expression. It is immutable and safe for concurrent use.
type CEL struct {
	program cel.Program
	native  native // nil: there is none
	meter   meter  // of native, as it begins; zero if cel-go does not count
	work    Work
	reads   []read
	draws   bool // looks at @rand
}

// CEL compiles a CEL expression whose result is of one of the kinds wanted; one that is known only at run time passes. The
// error is one *position.Error, or several joined, each at its token.
func (c *Compiler) CEL(source string, want Kinds) (*CEL, error) {
	if strings.TrimSpace(source) == "" {
		return nil, fault(0, errors.New("empty expression"))
	}
	env, err := c.environment()
	if err != nil {
		return nil, fault(-1, err)
	}
	checked, err := check(env, source)
	if err != nil {
		return nil, err
	}
	if t := checked.OutputType(); !want.has(t) {
		return nil, fault(0, fmt.Errorf("the result is %s, not %s", t, want))
	}
	tree := checked.NativeRep()
	bounded := isBounded(tree.Expr())
	program, err := env.Program(checked, c.programOptions(bounded)...)
	if err != nil {
		return nil, fault(-1, err)
	}
	p := &CEL{program: program, work: Interpret, reads: readsOf(tree), draws: draws(tree.Expr())}
	if p.native = (nativeCompiler{counted: !bounded}).of(tree.Expr()); p.native == nil {
		return p, nil
	}
	p.work = Lookup
	if !bounded {
		p.work, p.meter = Search, meter{costOf(tree.Expr()), int(min(c.options.Cost, math.MaxInt))}
	}
	return p, nil
}

// draws reports whether an expression looks at the dice.
func draws(e ast.Expr) bool {
	found := false
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		found = found || e.Kind() == ast.IdentKind && e.AsIdent() == randVariable
	}))
	return found
}

// Draws reports whether the result depends on Scope.Seed.
func (p *CEL) Draws() bool { return p.draws }

// Work says what an evaluation takes.
func (p *CEL) Work() Work { return p.work }

func check(env *cel.Env, source string) (*cel.Ast, error) {
	parsed, issues := env.Parse(source)
	if issues.Err() != nil {
		return nil, faults(source, issues)
	}
	sortRanges(parsed.NativeRep())
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, faults(source, issues)
	}
	return checked, nil
}

func faults(source string, issues *cel.Issues) error {
	var errs []error
	for _, e := range issues.Errors() {
		errs = append(errs, fault(offsetOf(source, e.Location), errors.New(strings.TrimSuffix(e.Message, " (in container '')"))))
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// offsetOf turns a line (from 1) and a column (in characters, from 0) into a byte offset.
func offsetOf(source string, at common.Location) int {
	offset := 0
	for range at.Line() - 1 {
		next := strings.IndexByte(source[offset:], '\n')
		if next < 0 {
			return -1
		}
		offset += next + 1
	}
	for range at.Column() {
		_, size := utf8.DecodeRuneInString(source[offset:])
		offset += size
	}
	if at.Line() < 1 || at.Column() < 0 {
		return -1
	}
	return offset
}

// Bool evaluates the expression. Whatever keeps it from being true or false is an error: a missing key, a type that does
// not fit, a result that is no bool, a limit.
func (p *CEL) Bool(s *Scope) (bool, error) {
	if v, err := p.evalNative(s); err != errUnsure {
		if b, ok := v.(bool); ok || err != nil {
			return b, err
		}
	}
	out, err := p.eval(s)
	if err != nil {
		return false, err
	}
	b, ok := out.(types.Bool)
	if !ok {
		return false, fmt.Errorf("the result is %s, not bool", out.Type().TypeName())
	}
	return bool(b), nil
}

// Value evaluates the expression. The result is a bool, string, int64, uint64, float64, time.Duration or time.Time; any
// other is an error, as for Bool.
func (p *CEL) Value(s *Scope) (any, error) {
	switch v, err := p.evalNative(s); v.(type) {
	case bool, string, int64, float64:
		return v, err
	}
	out, err := p.eval(s)
	if err != nil {
		return nil, err
	}
	switch v := out.Value().(type) {
	case bool, string, int64, uint64, float64, time.Duration, time.Time:
		return v, nil
	}
	return nil, fmt.Errorf("the result is %s, not a single value", out.Type().TypeName())
}

// evalNative returns errUnsure if CEL has to evaluate the expression.
func (p *CEL) evalNative(s *Scope) (any, error) {
	if p.native == nil || s.Values != nil {
		return nil, errUnsure
	}
	s.meter = p.meter
	if !s.meter.charge(0) {
		return nil, errUnsure
	}
	return p.native(s)
}

// eval never panics: cel.Program turns panics into errors.
func (p *CEL) eval(s *Scope) (ref.Val, error) {
	s.draws = 0
	out, _, err := p.program.Eval((*activation)(s))
	return out, err
}

// activation is a Scope as CEL sees it. The names that begin with @ cannot be written in CEL; macros expand to them.
type activation Scope

// Parent returns nil: there are no further names.
func (a *activation) Parent() cel.Activation { return nil }

// ResolveName returns the value of a variable. Each look at @rand is a draw.
func (a *activation) ResolveName(name string) (any, bool) {
	if v, ok := a.Values[name]; ok {
		return v, true
	}
	switch name {
	case "self":
		return a.Object, true
	case nowVariable:
		return types.Timestamp{Time: a.Now}, true
	case randVariable:
		a.draws++
		return types.Double(random(a.Seed, a.draws)), true
	}
	return nil, false
}

// random is splitmix64 at the n-th place of the sequence of the seed, as a number in [0, 1).
func random(seed, n uint64) float64 {
	z := seed + n*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return float64(z>>11) / (1 << 53)
}
