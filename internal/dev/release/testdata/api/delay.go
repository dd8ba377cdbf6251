package delay

import selector "github.com/stagecraft-go/stagecraft/selector"
import v1alpha1 "github.com/stagecraft-go/stagecraft/stage/v1alpha1"
import time "time"

func Compile(d *v1alpha1.StageDelay, o Options) (*Delay, error) { panic(0) }

type Delay struct {
	_ struct{}
}

func (*Delay) Range(obj map[string]any, now time.Time) Range { panic(0) }

func (*Delay) Explain(obj map[string]any, now time.Time) Explanation { panic(0) }

type Error struct {
	Path    string
	Offset  int
	Warning bool
	Err     error
}

func (*Error) Error() string { panic(0) }

func (*Error) Unwrap() error { panic(0) }

type Evaluation struct {
	Name    string
	Meaning string
	Path    string
	Text    string
	Seen    any
	Value   time.Duration
	Given   bool
	Err     error
}

type Explanation struct {
	Range     Range
	Base      time.Duration
	Jitter    time.Duration
	Parts     []Evaluation
	Extension *Extension
}

type Extension struct {
	_ struct{}
}

func (*Extension) AddsJitter() bool { panic(0) }

func (*Extension) String() string { panic(0) }

func (*Extension) Extend(e Explanation) Explanation { panic(0) }

const ExtensionAnnotation = "stagecraft-go.github.io/delay"

type Options = selector.Options

func ParseExtension(text string) (*Extension, error) { panic(0) }

type Range struct {
	Given bool
	Min   time.Duration
	Max   time.Duration
	_     struct{}
}

func (Range) Pick(random uint64) time.Duration { panic(0) }

func (Range) Drawn() bool { panic(0) }

func (Range) String() string { panic(0) }
