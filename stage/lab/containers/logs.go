package containers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime/debug"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// LogOptions say which part of a log a client wants, as PodLogOptions of Kubernetes do. The zero
// value is the whole log of the only container, without times.
type LogOptions struct {
	// Container is the name of the container. Default: the only one of the Pod.
	Container string
	// Follow goes on with new lines until the container ends or the context is done.
	Follow bool
	// Previous is for the run before the present one.
	Previous bool
	// Timestamps puts the time before each line.
	Timestamps bool
	// SinceTime leaves out earlier lines; SinceSeconds the lines that are older than that. At most one
	// of them may be set.
	SinceTime    *time.Time
	SinceSeconds *int64
	// TailLines is how many of the last lines are wanted, counted before SinceTime. Nil: all.
	TailLines *int64
	// LimitBytes is after how many bytes the log is cut off. Nil: nowhere.
	LimitBytes *int64
	// Stream is Stdout or Stderr for the lines of one of them. Default All.
	Stream string
}

const (
	// maxLogBytes is how much of a log is kept: the oldest lines go, as with the rotation of a kubelet.
	maxLogBytes = 10 << 20
	// lineBytes is how much a line has besides its text in the file of a kubelet, which has its time.
	lineBytes = 45
	// maxLogLines is how many lines a function may return until now.
	maxLogLines = 10_000_000
	// pollPeriod is how often a reader that follows looks at the clock of the cluster.
	pollPeriod = 100 * time.Millisecond
	// timestampForm has nine digits after the point, as the kubelet writes it.
	timestampForm = "2006-01-02T15:04:05.000000000Z07:00"
)

// Logs finds the log of a container. What is wrong with the request is an error, before anything is
// written: WriteTo of the result writes the log as it is then, and in a log that is followed each
// line when its time comes. A Pod without a node has an empty log, as with kube-apiserver.
func (r *Runtime) Logs(ctx context.Context, pod types.NamespacedName, o LogOptions) (io.WriterTo, error) {
	obj, err := r.pod(ctx, pod)
	if err != nil {
		return nil, err
	}
	if faults := o.faults(); len(faults) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "PodLogOptions"}, pod.Name, faults)
	}
	name, err := named(obj, o.Container)
	if err != nil {
		return nil, err
	}
	if node(obj) == "" {
		return strings.NewReader(""), nil
	}
	c, err := stateOf(obj, name).logged(obj.GetName(), name, o.Previous)
	if err != nil {
		return nil, err
	}
	lines, err := r.lines(ctx, *c)
	if err != nil {
		return nil, err
	}
	return &log{r: r, ctx: ctx, pod: pod, container: *c, options: o, lines: lines}, nil
}

func (o LogOptions) faults() (all field.ErrorList) {
	if o.TailLines != nil && *o.TailLines < 0 {
		all = append(all, field.Invalid(field.NewPath("tailLines"), *o.TailLines, "must be greater than or equal to 0"))
	}
	if o.LimitBytes != nil && *o.LimitBytes < 1 {
		all = append(all, field.Invalid(field.NewPath("limitBytes"), *o.LimitBytes, "must be greater than 0"))
	}
	switch {
	case o.SinceSeconds != nil && o.SinceTime != nil:
		all = append(all, field.Forbidden(field.NewPath(""), "at most one of `sinceTime` or `sinceSeconds` may be specified"))
	case o.SinceSeconds != nil && *o.SinceSeconds < 1:
		all = append(all, field.Invalid(field.NewPath("sinceSeconds"), *o.SinceSeconds, "must be greater than 0"))
	}
	switch o.Stream {
	case "", "All":
	case "Stdout", "Stderr":
		if o.TailLines != nil {
			all = append(all, field.Forbidden(field.NewPath(""), "`tailLines` and specific `stream` are mutually exclusive for now"))
		}
	default:
		all = append(all, field.NotSupported(field.NewPath("stream"), o.Stream, []string{"All", "Stderr", "Stdout"}))
	}
	return all
}

// waitingFor are the reasons that a kubelet says in other words.
var waitingFor = map[string]string{
	"ErrImagePull": "image can't be pulled", "ImagePullBackOff": "trying and failing to pull image",
}

// logged returns the run whose log a request is about.
func (s state) logged(pod, name string, previous bool) (*Container, error) {
	switch {
	case !s.found:
		return nil, badRequest("container %q in pod %q is not available", name, pod)
	case previous && s.last == nil:
		return nil, badRequest("previous terminated container %q in pod %q not found", name, pod)
	case previous:
		return s.last, nil
	case s.running != nil:
		return s.running, nil
	case s.ended != nil:
		return s.ended, nil
	case s.last != nil:
		return s.last, nil
	case s.waiting == "":
		return nil, badRequest("container %q in pod %q is waiting to start - no logs yet", name, pod)
	}
	reason := s.waiting
	if words := waitingFor[reason]; words != "" {
		reason = words
	}
	return nil, badRequest("container %q in pod %q is waiting to start: %s", name, pod, reason)
}

// lines returns what a container prints: by its annotation, or by the function of the program.
func (r *Runtime) lines(ctx context.Context, c Container) (iter.Seq[Line], error) {
	if text, ok := c.Pod.GetAnnotations()[LogsPrefix+c.Name]; ok {
		return Lines(strings.Split(strings.TrimSuffix(text, "\n"), "\n")...), nil
	}
	err := ErrNotSimulated
	if r.options.Logs != nil {
		var lines iter.Seq[Line]
		if lines, err = r.options.Logs(ctx, c); err == nil && lines == nil {
			lines = Lines()
		}
		if err == nil {
			return lines, nil
		}
	}
	if errors.Is(err, ErrNotSimulated) {
		return nil, notSimulated("the log", c.full(), "Logs")
	}
	return nil, badRequest("%v", err) // as the kubelet answers errors of its runtime
}

// A log is what a client reads.
type log struct {
	r         *Runtime
	ctx       context.Context //nolint:containedctx // of the request, whose answer this is
	pod       types.NamespacedName
	container Container
	options   LogOptions
	lines     iter.Seq[Line]
}

// errEnough ends a log whose limit is reached.
var errEnough = errors.New("the limit is reached")

// WriteTo writes the log. If the Writer has a method Flush, it is called when the log waits for new
// lines.
func (l *log) WriteTo(w io.Writer) (n int64, err error) {
	out := l.writer(w)
	defer func() {
		if p := recover(); p != nil {
			n, err = out.written, apierrors.NewInternalError(fmt.Errorf("panic of the function Logs: %v\n%s", p, debug.Stack()))
		}
	}()
	err = l.write(out)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return out.written, err
}

func (l *log) writer(w io.Writer) *logWriter {
	out := &logWriter{Writer: w, options: l.options, left: -1}
	if l.options.LimitBytes != nil {
		out.left = *l.options.LimitBytes
	}
	if l.options.SinceTime != nil {
		out.since = *l.options.SinceTime
	}
	if l.options.SinceSeconds != nil {
		out.since = l.r.cluster.Now().Add(-time.Duration(*l.options.SinceSeconds) * time.Second)
	}
	return out
}

// write reads the lines up to the present, writes the last ones, and follows.
func (l *log) write(out *logWriter) error {
	past := past{most: -1, limit: cmp.Or(l.r.options.maxLines, maxLogLines)}
	if l.options.TailLines != nil {
		past.most = int(*l.options.TailLines)
	}
	now, following := l.r.cluster.Now(), false
	at, err := l.container.Started, error(nil)
	for line := range single(l.lines) {
		if line.Time.Before(at) {
			line.Time = at // also the zero time
		}
		at = line.Time
		if !following && at.After(now) {
			following, err = true, past.writeTo(out)
		}
		switch {
		case err != nil:
		case l.ctx.Err() != nil:
			err = l.ctx.Err()
		case !following && !l.container.Ended.IsZero() && at.After(l.container.Ended):
			return past.writeTo(out) // it ended before
		case !following:
			err = past.add(line)
		case !l.options.Follow:
			return nil
		default:
			if err = l.waitUntil(out, at); err == nil {
				err = out.line(line)
			}
		}
		if err != nil {
			return err
		}
	}
	if !following {
		if err := past.writeTo(out); err != nil {
			return err
		}
	}
	if l.options.Follow {
		return l.waitUntil(out, time.Time{})
	}
	return nil
}

// single splits texts of several lines.
func single(lines iter.Seq[Line]) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		for line := range lines {
			for text := range strings.SplitSeq(line.Text, "\n") {
				line.Text = text
				if !yield(line) {
					return
				}
			}
		}
	}
}

// waitUntil waits until a time has come in the cluster, or without end for the zero time. It returns
// errEnough when the container has ended before.
func (l *log) waitUntil(out *logWriter, at time.Time) error {
	for {
		now := l.r.cluster.Now()
		ended, err := l.ended()
		switch {
		case err != nil:
			return err
		case !ended.IsZero() && (at.IsZero() || at.After(ended)):
			return errEnough
		case !at.IsZero() && !at.After(now):
			return nil
		}
		if err := out.flush(); err != nil {
			return err
		}
		select {
		case <-l.ctx.Done():
			return l.ctx.Err()
		case <-time.After(pollPeriod):
		}
	}
}

// ended returns when the run of the log ended, the zero time if it goes on.
func (l *log) ended() (time.Time, error) {
	if !l.container.Ended.IsZero() {
		return l.container.Ended, nil
	}
	now := l.r.cluster.Now()
	pod, err := l.r.pod(l.ctx, l.pod)
	if apierrors.IsNotFound(err) || err == nil && pod.GetUID() != l.container.Pod.GetUID() {
		return now, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	s := stateOf(pod, l.container.Name)
	for _, run := range []*Container{s.ended, s.last} {
		if run != nil && run.Run == l.container.Run {
			return run.Ended, nil
		}
	}
	if s.running == nil || s.running.Run != l.container.Run {
		return now, nil
	}
	return time.Time{}, nil
}

// past are the lines up to the present. The oldest lines go.
type past struct {
	most  int // of the lines; -1: no limit
	limit int // of all lines until now
	lines []Line
	first int // index of the oldest line
	bytes int
	count int
}

func (p *past) add(line Line) error {
	if p.count++; p.count > p.limit {
		return apierrors.NewInternalError(fmt.Errorf("the function Logs has returned %d lines until now, and no end", p.limit))
	}
	p.lines, p.bytes = append(p.lines, line), p.bytes+len(line.Text)+lineBytes
	for p.bytes > maxLogBytes || p.most >= 0 && len(p.lines)-p.first > p.most {
		p.bytes -= len(p.lines[p.first].Text) + lineBytes
		p.lines[p.first] = Line{}
		p.first++
	}
	if p.first > len(p.lines)/2 {
		p.lines, p.first = append(p.lines[:0], p.lines[p.first:]...), 0
	}
	return nil
}

func (p *past) writeTo(out *logWriter) error {
	for _, line := range p.lines[p.first:] {
		if err := out.line(line); err != nil {
			return err
		}
	}
	p.lines, p.first = nil, 0
	return nil
}

// A logWriter writes the lines that the options want.
type logWriter struct {
	io.Writer
	options LogOptions
	since   time.Time
	left    int64 // bytes; -1: no limit
	written int64
}

func (w *logWriter) line(line Line) error {
	if line.Time.Before(w.since) || w.options.Stream == "Stdout" && line.Stderr || w.options.Stream == "Stderr" && !line.Stderr {
		return nil
	}
	text := line.Text + "\n"
	if w.options.Timestamps {
		text = line.Time.UTC().Format(timestampForm) + " " + text
	}
	cut := w.left >= 0 && int64(len(text)) >= w.left
	if cut {
		text = text[:w.left]
	}
	n, err := io.WriteString(w.Writer, text)
	w.written += int64(n)
	if w.left >= 0 {
		w.left -= int64(n)
	}
	if err == nil && cut {
		err = errEnough
	}
	return err
}

// flush sends what was written, if the writer can.
func (w *logWriter) flush() error {
	if f, ok := w.Writer.(interface{ Flush() error }); ok {
		return f.Flush()
	}
	return nil
}
