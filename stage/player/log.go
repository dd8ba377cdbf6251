package player

import (
	"context"
	"log/slog"

	"github.com/stagecraft-go/stagecraft/stage"
)

// LogTrace returns a function that logs each event, with the time of the event, its kind as the
// message and the attributes of [stage.TraceEvent.LogValue]. It is for the Trace of [Options], of
// [stage.EngineOptions] and of a simulation. The levels are
//
//	Error   a transition or an object that cannot go on
//	Warn    an effect, list or watch that failed and is tried again
//	Info    a Stage that was played
//	Debug   the rest
//
// It is safe for concurrent use if the logger is.
func LogTrace(logger *slog.Logger) func(stage.TraceEvent) {
	handler := logger.Handler()
	return func(e stage.TraceEvent) {
		ctx, level := context.Background(), levelOf(e)
		if !handler.Enabled(ctx, level) {
			return
		}
		r := slog.NewRecord(e.Time, level, e.Kind.String(), 0)
		r.AddAttrs(e.LogValue().Group()[1:]...) // the first is the kind, which is already the message
		_ = handler.Handle(ctx, r)              // slog.Logger also ignores the error
	}
}

func levelOf(e stage.TraceEvent) slog.Level {
	isKind := e.Key.Name == "" // a list or watch of the kind failed and is tried again
	switch {
	case e.Err != nil && (isKind || e.Kind == stage.TraceEffected):
		return slog.LevelWarn
	case e.Err != nil:
		return slog.LevelError
	case e.Kind == stage.TracePlayed:
		return slog.LevelInfo
	default:
		return slog.LevelDebug
	}
}
