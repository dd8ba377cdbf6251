package stage

import "log/slog"

// LogValue returns the event as a group of attributes: kind, object, and the attributes of the
// kind: stage, n, in (the delay), weight, index, effect, changes (nothing), error. The Time is the
// time of the log record (see player.LogTrace). The content of an effect is left out, because it
// can be large or secret.
func (e TraceEvent) LogValue() slog.Value {
	attrs := append(make([]slog.Attr, 0, 8), slog.String("kind", e.Kind.String()), slog.String("object", e.Key.String()))
	if e.Stage != "" {
		attrs = append(attrs, slog.String("stage", e.Stage))
	}
	switch e.Kind {
	case TraceObserved:
		attrs = append(attrs, slog.String("resourceVersion", e.ResourceVersion))
	case TraceScheduled:
		attrs = append(attrs, slog.Uint64("n", e.N), slog.Duration("in", e.Due.Sub(e.Time)), slog.Int64("weight", e.Weight))
	case TracePlayed:
		attrs = append(attrs, slog.Uint64("n", e.N), slog.Duration("late", max(e.Time.Sub(e.Due), 0)))
	case TraceEffected, TraceFailed:
		attrs = append(attrs, e.effectAttrs()...)
	}
	if e.Err != nil {
		attrs = append(attrs, slog.String("error", e.Err.Error()))
	}
	return slog.GroupValue(attrs...)
}

func (e TraceEvent) effectAttrs() []slog.Attr {
	if e.Effect == nil {
		return nil
	}
	attrs := []slog.Attr{slog.Int("index", e.Index), slog.String("effect", headOf(e.Effect))}
	if e.NoOp {
		attrs = append(attrs, slog.Bool("changesNothing", true))
	}
	return attrs
}

// headOf prints an effect in one line without its content.
func headOf(e Effect) string {
	switch e := e.(type) {
	case Event:
		return join("event", e.Type, e.Reason)
	case Patch:
		return join("patch", short(e.Type), slash(e.Subresource), as(e.Impersonate))
	case Apply:
		target := "nothing"
		if e.Object != nil {
			target = KeyOf(e.Object).String()
		}
		return join("apply", short(e.Type), slash(e.Subresource), as(e.Impersonate), target)
	}
	return e.String()
}
