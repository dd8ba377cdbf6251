package expression

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"

	"github.com/stagecraft-go/stagecraft/internal/cel"
)

// Kinds are types that the result of a CEL expression may have, joined by |.
type Kinds uint

// The kinds of results. Value returns them as bool, string, int64, uint64, float64, time.Duration
// and time.Time.
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
var kinds = [...]*types.Type{
	types.BoolType, types.StringType, types.IntType, types.UintType, types.DoubleType, types.DurationType, types.TimestampType,
}

func (k Kinds) has(t *types.Type) bool {
	for i, kind := range kinds {
		if kind.IsExactType(t) {
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
			names = append(names, strings.TrimPrefix(strings.ToLower(kind.TypeName()), "google.protobuf."))
		}
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " or " + names[last]
	}
	return strings.Join(names, "")
}

// CEL is a compiled CEL expression. It is immutable and safe for concurrent use.
type CEL struct {
	program *cel.Program
	reads   [][]string
}

// Draws reports whether the result depends on Scope.Seed.
func (p *CEL) Draws() bool { return slices.Contains(p.program.Variables(), randVariable) }

// Rank orders expressions by what an evaluation takes, as [cel.Program.Rank] does.
func (p *CEL) Rank() int { return p.program.Rank() }

// Bool evaluates the expression. Whatever keeps it from being true or false is an error: a missing
// key, a type that does not fit, a result that is no bool, a limit.
func (p *CEL) Bool(s *Scope) (bool, error) {
	s.draws = 0
	return p.program.Bool((*activation)(s), &s.frame)
}

// Value evaluates the expression. The result is a bool, string, int64, uint64, float64,
// time.Duration or time.Time; any other is an error, as for Bool.
func (p *CEL) Value(s *Scope) (any, error) {
	s.draws = 0
	switch v, err := p.program.Native((*activation)(s), &s.frame); v.(type) {
	case bool, string, int64, float64:
		return v, err
	}
	out, err := p.program.Eval((*activation)(s))
	if err != nil {
		return nil, err
	}
	switch v := out.Value().(type) {
	case bool, string, int64, uint64, float64, time.Duration, time.Time:
		return v, nil
	}
	return nil, fmt.Errorf("the result is %s, not a single value", out.Type().TypeName())
}
