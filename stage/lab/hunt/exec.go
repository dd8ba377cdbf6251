package hunt

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
)

// Exec runs a command in a container by Options.Lab.Containers.Exec and returns its exit code. The
// container "" is the only one of the Pod. It is a site of the verb exec: Refuse fails it before the
// command runs, and after Lose the command has run, its output is cut off in the middle and the
// answer is a time-out, which comes late if the fault has For: the command hangs. A command is not a
// write that must cease, so that a controller may run one in each reconcile.
func (p *Process) Exec(ctx context.Context, pod types.NamespacedName, container string, command containers.Command) (code int, err error) {
	var stdout, stderr bytes.Buffer
	ran := false
	_, err = p.send(request{execVerb, "exec", pods, pod, func() (*unstructured.Unstructured, error) {
		run, err := containers.Of(p.cluster()).Exec(ctx, pod, container)
		if err != nil {
			return nil, err
		}
		seen := command
		seen.Stdout, seen.Stderr = &stdout, &stderr
		code, err = run(ctx, seen)
		ran = err == nil
		return nil, err
	}})
	for _, copied := range []struct {
		from *bytes.Buffer
		to   io.Writer
	}{{&stdout, command.Stdout}, {&stderr, command.Stderr}} {
		text := copied.from.Bytes()
		if ran && err != nil {
			text = text[:len(text)/2]
		}
		if copied.to == nil {
			continue
		}
		if _, failed := copied.to.Write(text); failed != nil && err == nil {
			err = failed
		}
	}
	if err != nil {
		return 0, err
	}
	return code, nil
}

// The verbs of requests for containers, which are not writes.
const (
	execVerb  = "exec"
	logsVerb  = "logs"
	usageVerb = "usage"
)

// isOfContainers reports whether a site is a request for containers.
func (s Site) isOfContainers() bool {
	return s.Verb == execVerb || s.Verb == logsVerb || s.Verb == usageVerb
}

// Logs returns the log of a container until now, as the API server does. It is a site of the verb logs:
// after Lose the older half of the lines is gone, and no error says so, as when a Node rotates its logs.
func (p *Process) Logs(ctx context.Context, pod types.NamespacedName, o containers.LogOptions) (text string, err error) {
	var out strings.Builder
	o.Follow = false
	read := false
	_, err = p.send(request{logsVerb, "log", pods, pod, func() (*unstructured.Unstructured, error) {
		log, err := containers.Of(p.cluster()).Logs(ctx, pod, o)
		if err == nil {
			_, err = log.WriteTo(&out)
		}
		read = err == nil
		return nil, err
	}})
	text = out.String()
	if read && err != nil {
		lines := strings.SplitAfter(text, "\n")
		return strings.Join(lines[len(lines)/2:], ""), nil
	}
	return text, err
}

// Usage returns what the containers of a Pod use, by name, as the API metrics.k8s.io says it: NotFound
// for a Pod without metrics. It is a site of the verb usage: during a Lag the answers for all Pods are
// the last ones from before, with their times, as of a metrics-server that has stopped to read.
func (p *Process) Usage(ctx context.Context, pod types.NamespacedName) (used map[string]containers.Usage, err error) {
	_, err = p.send(request{usageVerb, "usage", pods, pod, func() (*unstructured.Unstructured, error) {
		used, err = p.run.measured(ctx, pod)
		return nil, err
	}})
	if err != nil {
		return nil, err
	}
	return used, nil
}

// A meter is what processes are told about the usage of Pods.
type meter struct {
	until time.Time // it tells old answers until then
	last  map[types.NamespacedName]map[string]containers.Usage
}

// measured returns what a Pod uses, or did when the meter stopped.
func (r *Run) measured(ctx context.Context, name types.NamespacedName) (map[string]containers.Usage, error) {
	none := apierrors.NewNotFound(schema.GroupResource{Group: "metrics.k8s.io", Resource: "podmetrics"}, name.String())
	if r.sim.Now().Before(r.meter.until) {
		if used := r.meter.last[name]; used != nil {
			return maps.Clone(used), nil
		}
		return nil, none
	}
	pod, err := r.shared.Get(ctx, pods, name)
	if apierrors.IsNotFound(err) {
		return nil, none
	}
	if err != nil {
		return nil, err
	}
	used, err := containers.Of(r.sim.Cluster()).Usage(ctx, pod)
	if errors.Is(err, containers.ErrNotSimulated) || err == nil && len(used) == 0 {
		return nil, none
	}
	if err != nil {
		return nil, err
	}
	if r.meter.last == nil {
		r.meter.last = map[types.NamespacedName]map[string]containers.Usage{}
	}
	r.meter.last[name] = maps.Clone(used)
	return used, nil
}
