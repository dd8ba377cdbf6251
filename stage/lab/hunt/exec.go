package hunt

import (
	"bytes"
	"context"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
)

// Exec runs a command in a container by Options.Lab.Containers.Exec and returns its exit code. The
// container "" is the only one of the Pod. It is a site of the verb exec: Refuse fails it before the
// command runs, and after Lose the command has run, its output is cut off in the middle and the
// answer is a time-out. A command is not a write that must cease, so that a controller may run one in
// each reconcile.
func (p *Process) Exec(ctx context.Context, pod types.NamespacedName, container string, command containers.Command) (code int, err error) {
	var stdout, stderr bytes.Buffer
	kind, ran := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, false
	_, err = p.send(request{execVerb, "exec", kind, pod, func() (*unstructured.Unstructured, error) {
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

// execVerb is the verb of commands.
const execVerb = "exec"
