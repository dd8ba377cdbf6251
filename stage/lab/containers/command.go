package containers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// Exec finds a running container and returns a function that runs a command there. The function
// returns the exit code of the command. The name "" is that of the only container of the Pod.
func (r *Runtime) Exec(ctx context.Context, pod types.NamespacedName, container string) (func(context.Context, Command) (int, error), error) {
	c, err := r.running(ctx, pod, container)
	if err != nil {
		return nil, err
	}
	if r.options.Exec == nil {
		return nil, notSimulated("exec", c.full(), "Exec")
	}
	return func(ctx context.Context, command Command) (int, error) {
		if err := CheckArgv(command.Argv); err != nil {
			return 0, err
		}
		ctx, end := r.whileRunning(ctx, *c)
		defer end()
		command.Streams = command.Streams.whole()
		code, err := r.options.Exec(ctx, *c, command)
		switch {
		case err != nil && hasEnded(ctx):
			return killed, nil
		case err == nil && (code < 0 || code > 255):
			return 0, fmt.Errorf("the function Exec has returned the exit code %d: want 0 to 255", code)
		}
		return code, c.explain(err, "exec", "Exec")
	}, nil
}

// killed is the exit code of a command that ends with its container.
const killed = 128 + 9

// CheckArgv refuses a command without words.
func CheckArgv(argv []string) error {
	if len(argv) == 0 {
		return badRequest("you must specify at least one command for the container")
	}
	return nil
}

// Attach finds a running container and returns a function that connects a client with it. The input of
// the client is ignored if the spec of the container has no stdin.
func (r *Runtime) Attach(ctx context.Context, pod types.NamespacedName, container string) (func(context.Context, Streams) error, error) {
	c, err := r.running(ctx, pod, container)
	if err != nil {
		return nil, err
	}
	attach := r.whileAttached
	if r.options.Attach == nil {
		lines, err := r.lines(ctx, *c)
		if errors.Is(err, ErrNotSimulated) {
			return nil, notSimulated("attach", c.full(), "Attach or Logs")
		}
		if err != nil {
			return nil, err
		}
		attach = func(ctx context.Context, _ Container, s Streams) error { // a log ends with its container itself
			o := LogOptions{Follow: true, TailLines: new(int64)}
			_, err := (&log{r: r, ctx: ctx, pod: pod, container: *c, options: o, lines: lines}).WriteTo(s.Stdout)
			if errors.Is(err, context.Canceled) {
				return nil // the client has left
			}
			return err
		}
	}
	hasInput := hasStdin(*c)
	return func(ctx context.Context, s Streams) error {
		if !hasInput {
			s.Stdin = nil
		}
		return c.explain(attach(ctx, *c, s.whole()), "attach", "Attach")
	}, nil
}

// whileAttached calls the function of the program until the container ends.
func (r *Runtime) whileAttached(ctx context.Context, c Container, s Streams) error {
	ctx, end := r.whileRunning(ctx, c)
	defer end()
	err := r.options.Attach(ctx, c, s)
	if hasEnded(ctx) {
		return nil
	}
	return err
}

// PortForward finds a Pod that runs and returns a function that connects a client with one of its
// ports. The function returns [ErrEnded] if the Pod ends.
func (r *Runtime) PortForward(ctx context.Context, pod types.NamespacedName) (func(ctx context.Context, port int, client io.ReadWriter) error, error) {
	obj, err := r.pod(ctx, pod)
	if err != nil {
		return nil, err
	}
	if err := hasHost(obj); err != nil {
		return nil, err
	}
	if phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase"); phase != "Running" {
		return nil, apierrors.NewInternalError(fmt.Errorf("unable to forward port because pod is not running. Current status=%s", cmp.Or(phase, "Pending")))
	}
	if r.options.PortForward == nil {
		return nil, notSimulated("port-forward", fmt.Sprintf("pod %q", pod.Name), "PortForward")
	}
	return func(ctx context.Context, port int, client io.ReadWriter) error {
		ctx, end := r.whileRunning(ctx, Container{Pod: obj})
		defer end()
		err := r.options.PortForward(ctx, obj, port, client)
		switch {
		case hasEnded(ctx):
			return fmt.Errorf("pod %q: %w", pod.Name, ErrEnded)
		case errors.Is(err, ErrNotSimulated):
			return notSimulated("port-forward", fmt.Sprintf("port %d of pod %q", port, pod.Name), "PortForward")
		}
		return err
	}, nil
}

// running returns the container of a request, which has to run.
func (r *Runtime) running(ctx context.Context, pod types.NamespacedName, container string) (*Container, error) {
	obj, err := r.pod(ctx, pod)
	if err != nil {
		return nil, err
	}
	name, err := named(obj, container)
	if err != nil {
		return nil, err
	}
	if err := hasHost(obj); err != nil {
		return nil, err
	}
	s := stateOf(obj, name)
	switch {
	case s.running != nil:
		return s.running, nil
	case s.ended == nil && s.last == nil:
		return nil, apierrors.NewInternalError(fmt.Errorf("unable to upgrade connection: container not found (%q)", name))
	}
	return nil, apierrors.NewInternalError(fmt.Errorf("unable to upgrade connection: container %q in pod %q is not running", name, pod.Name))
}

func hasHost(pod *unstructured.Unstructured) error {
	if node(pod) == "" {
		return badRequest("pod %s does not have a host assigned", pod.GetName())
	}
	return nil
}

// hasStdin reports whether the spec of a container has stdin.
func hasStdin(c Container) bool {
	for _, l := range lists {
		specs, _ := object.Slice(c.Pod.Object, "spec", l.spec)
		for _, s := range specs {
			spec, _ := object.ToMap(s)
			if name, _ := object.String(spec, "name"); name == c.Name {
				stdin, _ := object.Bool(spec, "stdin")
				return stdin
			}
		}
	}
	return false
}

// explain adds to a function's ErrNotSimulated what it is about.
func (c Container) explain(err error, what, function string) error {
	if errors.Is(err, ErrNotSimulated) {
		return notSimulated(what, c.full(), function)
	}
	return err
}

// whole returns streams that are not nil.
func (s Streams) whole() Streams {
	if s.Stdin == nil {
		s.Stdin = strings.NewReader("")
	}
	if s.Stdout == nil {
		s.Stdout = io.Discard
	}
	if s.Stderr == nil {
		s.Stderr = io.Discard
	}
	return s
}
