package stage

import cel "github.com/google/cel-go/cel"
import delay "github.com/stagecraft-go/stagecraft/delay"
import render "github.com/stagecraft-go/stagecraft/render"
import selector "github.com/stagecraft-go/stagecraft/selector"
import v1alpha1 "github.com/stagecraft-go/stagecraft/stage/v1alpha1"
import iter "iter"
import unstructured "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
import schema "k8s.io/apimachinery/pkg/runtime/schema"
import types "k8s.io/apimachinery/pkg/types"
import slog "log/slog"
import time "time"

type Allow struct {
	Users []string
	Apply map[string][]string
	Kinds []string
}

type Apply struct {
	Type        types.PatchType
	Subresource string
	Impersonate string
	Object      *unstructured.Unstructured
}

func (Apply) isEffect() { panic(0) }

func (Apply) String() string { panic(0) }

func (Apply) JSON() []byte { panic(0) }

type Candidate struct {
	Stage       string
	Weight      int64
	Weighted    bool
	Probability float64
	Delay       delay.Range
	_           struct{}
}

func (Candidate) Transition(random uint64) Transition { panic(0) }

func Compile(o Options, sources ...Source) (*Set, error) { panic(0) }

type Delete struct {
}

func (Delete) isEffect() { panic(0) }

func (Delete) String() string { panic(0) }

type DryRun struct {
	Due      time.Time
	Effects  []Effect
	Err      error
	After    *unstructured.Unstructured
	Idle     bool
	Livelock bool
	_        struct{}
}

type Effect interface {
	String() string
	isEffect()
}

type Engine struct {
	_ [0]func()
}

func (*Engine) Observe(obj *unstructured.Unstructured, now time.Time) error { panic(0) }

func (*Engine) Forget(k Key, now time.Time) bool { panic(0) }

func (*Engine) Len() int { panic(0) }

func (*Engine) Pending() int { panic(0) }

func (*Engine) NextDue() (time.Time, bool) { panic(0) }

func (*Engine) Upcoming() (TraceEvent, bool) { panic(0) }

func (*Engine) Due(now time.Time) iter.Seq[Transition] { panic(0) }

func (*Engine) Use(s *Set, now time.Time) []schema.GroupVersionKind { panic(0) }

type EngineOptions struct {
	Seed           uint64
	Trace          func(TraceEvent)
	LivelockLimit  int
	LivelockWindow time.Duration
}

var ErrLivelock error

var ErrNotAllowed error

type Error struct {
	Key      Key
	Position Position
	Stage    string
	Path     string
	Warning  bool
	Err      error
	_        struct{}
}

func (*Error) Error() string { panic(0) }

func (*Error) Unwrap() error { panic(0) }

type Errors []*Error

func (Errors) Error() string { panic(0) }

func (Errors) Unwrap() []error { panic(0) }

type Event struct {
	Type    string
	Reason  string
	Message string
}

func (Event) isEffect() { panic(0) }

func (Event) String() string { panic(0) }

type Explanation struct {
	Key    Key
	Time   time.Time
	Stages []StageExplanation
	Kinds  []schema.GroupVersionKind
	_      struct{}
}

func (Explanation) String() string { panic(0) }

func FromStages(stages ...v1alpha1.Stage) Source { panic(0) }

type Key struct {
	Group     string
	Version   string
	Kind      string
	Namespace string
	Name      string
}

func (Key) GroupVersionKind() schema.GroupVersionKind { panic(0) }

func (Key) NamespacedName() types.NamespacedName { panic(0) }

func (Key) Compare(other Key) int { panic(0) }

func (Key) String() string { panic(0) }

func KeyOf(obj *unstructured.Unstructured) Key { panic(0) }

func Load(paths ...string) (Source, error) { panic(0) }

func MustCompile(sources ...Source) *Set { panic(0) }

func NewEngine(s *Set, o EngineOptions) *Engine { panic(0) }

type Options struct {
	Lenient         bool
	Extensions      bool
	Env             render.Env
	Funcs           map[string]any
	JQFunctions     map[string]func(input any, args []any) any
	CELOptions      []cel.EnvOption
	MissingKeyError bool
	Version         string
	StartTime       time.Time
	JQSteps         int
	ExpressionSize  int
	CELCost         uint64
	TemplateSteps   int
	TemplateSize    int
	Allow           *Allow
}

func Parse(name string, data []byte) Source { panic(0) }

type Patch struct {
	Type        types.PatchType
	Subresource string
	Impersonate string
	Data        any
}

func (Patch) isEffect() { panic(0) }

func (Patch) String() string { panic(0) }

func (Patch) JSON() []byte { panic(0) }

func (Patch) NoOp(obj *unstructured.Unstructured) (bool, error) { panic(0) }

func (Patch) Result(obj *unstructured.Unstructured) (any, error) { panic(0) }

const PatchesExtension = "stagecraft-go.github.io/patches"

type Position struct {
	File   string
	Line   int
	Column int
}

func (Position) String() string { panic(0) }

type Set struct {
	_ [0]func()
}

func (*Set) Explain(obj *unstructured.Unstructured, now time.Time) Explanation { panic(0) }

func (*Set) Kinds() []schema.GroupVersionKind { panic(0) }

func (*Set) WithEnv(env render.Env) *Set { panic(0) }

func (*Set) Stages(kind schema.GroupVersionKind) []string { panic(0) }

func (*Set) Warnings() Errors { panic(0) }

func (*Set) ObserveEnv(obj *unstructured.Unstructured) { panic(0) }

func (*Set) ForgetEnv(obj *unstructured.Unstructured) { panic(0) }

func (*Set) NeedsNodes() bool { panic(0) }

func (*Set) Candidates(obj *unstructured.Unstructured, now time.Time) []Candidate { panic(0) }

func (*Set) Next(obj *unstructured.Unstructured, now time.Time, seed uint64, n uint64) (Transition, bool) {
	panic(0)
}

type Source struct {
	_ [0]func()
}

func (Source) Stages() []v1alpha1.Stage { panic(0) }

func (Source) Locate(i int, path string, offset int) Position { panic(0) }

func (Source) OtherObjects() []*unstructured.Unstructured { panic(0) }

func (Source) Errors() Errors { panic(0) }

type StageExplanation struct {
	Stage        string
	Requirements []selector.Requirement
	Matches      bool
	Candidate    Candidate
	Weight       WeightEvaluation
	Delay        delay.Explanation
	DryRun       DryRun
	_            struct{}
}

func (StageExplanation) Locate(path string) Position { panic(0) }

const TraceCancelled TraceKind = 2

const TraceEffected TraceKind = 4

type TraceEvent struct {
	Time            time.Time
	Kind            TraceKind
	Key             Key
	ResourceVersion string
	Stage           string
	N               uint64
	Due             time.Time
	Weight          int64
	Random          uint64
	Index           int
	Effect          Effect
	NoOp            bool
	Err             error
}

func (TraceEvent) String() string { panic(0) }

func (TraceEvent) LogValue() slog.Value { panic(0) }

const TraceFailed TraceKind = 5

const TraceForgotten TraceKind = 6

type TraceKind int

func (TraceKind) String() string { panic(0) }

const TraceObserved TraceKind = 0

const TracePlayed TraceKind = 3

const TraceScheduled TraceKind = 1

type Transition struct {
	Key     Key
	UID     types.UID
	Stage   string
	N       uint64
	Entered time.Time
	Due     time.Time
	Random  uint64
	_       struct{}
}

func (Transition) String() string { panic(0) }

func (Transition) Immediate() bool { panic(0) }

func (Transition) Effects(obj *unstructured.Unstructured, now time.Time) ([]Effect, error) { panic(0) }

func (Transition) Plan(obj *unstructured.Unstructured, now time.Time) ([]Effect, error) { panic(0) }

func (Transition) Matches(obj *unstructured.Unstructured, now time.Time) bool { panic(0) }

func (Transition) Seed() uint64 { panic(0) }

type WeightEvaluation struct {
	Path  string
	Text  string
	Seen  any
	Value int64
	Given bool
	Err   error
}

type kind struct {
	schema.GroupVersionKind
	_ [0]func()
}
