package selector

import cel "github.com/google/cel-go/cel"
import v1alpha1 "github.com/stagecraft-go/stagecraft/stage/v1alpha1"
import time "time"

func Compile(s *v1alpha1.StageSelector, o Options) (*Selector, error) { panic(0) }

type Error struct {
	Path    string
	Offset  int
	Warning bool
	Err     error
}

func (*Error) Error() string { panic(0) }

func (*Error) Unwrap() error { panic(0) }

type Options struct {
	JQSteps        int
	ExpressionSize int
	CELCost        uint64
	JQFunctions    map[string]func(input any, args []any) any
	CELOptions     []cel.EnvOption
}

type Requirement struct {
	Path string
	Text string
	Seen []any
	OK   bool
	Err  error
}

type Selector struct {
	_ struct{}
}

func (*Selector) Match(obj map[string]any, now time.Time) bool { panic(0) }

func (*Selector) Explain(obj map[string]any, now time.Time) []Requirement { panic(0) }
