package player

import context "context"
import stage "github.com/stagecraft-go/stagecraft/stage"
import transport "github.com/stagecraft-go/stagecraft/stage/transport"
import unstructured "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
import schema "k8s.io/apimachinery/pkg/runtime/schema"
import slog "log/slog"
import time "time"

func Do(ctx context.Context, w transport.Writer, t stage.Transition, obj *unstructured.Unstructured, o DoOptions) (*unstructured.Unstructured, error) {
	panic(0)
}

type DoOptions struct {
	Now   time.Time
	Trace func(stage.TraceEvent)
}

type KindState struct {
	Listed time.Time
	Err    error
}

func LogTrace(logger *slog.Logger) func(stage.TraceEvent) { panic(0) }

func New(s *stage.Set, t transport.Transport, o Options) *Player { panic(0) }

type Options struct {
	Seed           uint64
	Workers        int
	Timeout        time.Duration
	Namespace      string
	Select         map[schema.GroupVersionKind]Selection
	Filter         func(obj *unstructured.Unstructured) bool
	Trace          func(stage.TraceEvent)
	LivelockLimit  int
	LivelockWindow time.Duration
	RetryAfter     time.Duration
	MaxRetryAfter  time.Duration
}

func Play(ctx context.Context, s *stage.Set, t transport.Transport, o Options) error { panic(0) }

type Player struct {
	_ [0]func()
}

func (*Player) Run(ctx context.Context) error { panic(0) }

func (*Player) Refilter() { panic(0) }

func (*Player) Stats() Stats { panic(0) }

func (*Player) Kinds() map[schema.GroupVersionKind]KindState { panic(0) }

func (*Player) Ready() error { panic(0) }

func (*Player) Use(s *stage.Set) { panic(0) }

type Selection struct {
	Labels string
	Fields string
}

type SendError struct {
	Key    stage.Key
	Stage  string
	Index  int
	Effect stage.Effect
	Err    error
}

func (*SendError) Error() string { panic(0) }

func (*SendError) Unwrap() error { panic(0) }

type Stats struct {
	Objects  int
	Pending  int
	Retrying int
	Queued   int
}
