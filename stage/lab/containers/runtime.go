package containers

import (
	"context"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// hooksName is the name of the hooks of this package.
const hooksName = "containers"

// Hooks return hooks with which [Of] finds the functions of a program. They change no object.
func Hooks(o Options) memory.Hooks {
	return memory.Hooks{Name: hooksName, Provides: &provided{o}}
}

type provided struct{ options Options }

// A Runtime answers requests about the containers of a cluster. A client of
// kube-apiserver gets the same errors, of type *errors.StatusError of apimachinery. It is safe for concurrent use
// if the functions of its Options are.
type Runtime struct {
	cluster *memory.Cluster
	options Options
}

// Of returns the runtime of a cluster, with the functions of its [Hooks]. Without hooks only
// annotations are simulated.
func Of(c *memory.Cluster) *Runtime {
	r := &Runtime{cluster: c.Shared()}
	if p, has := memory.Provided[*provided](c); has {
		r.options = p.options
	}
	return r
}

var podKind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

func (r *Runtime) pod(ctx context.Context, name types.NamespacedName) (*unstructured.Unstructured, error) {
	return r.cluster.Get(ctx, podKind, name)
}

// lists are the fields of a Pod with containers, and those with their statuses.
var lists = [...]struct{ spec, status string }{
	{"containers", "containerStatuses"}, {"initContainers", "initContainerStatuses"}, {"ephemeralContainers", "ephemeralContainerStatuses"},
}

// named returns the name of the container that a request is about: that of the request, or of the
// only container of the Pod.
func named(pod *unstructured.Unstructured, name string) (string, error) {
	all := names(pod, "containers")
	if name == "" {
		switch len(all) {
		case 1:
			return all[0], nil
		case 0:
			return "", badRequest("a container name must be specified for pod %s", pod.GetName())
		}
		message := fmt.Sprintf("a container name must be specified for pod %s, choose one of: %v", pod.GetName(), all)
		if inits := names(pod, "initContainers"); len(inits) > 0 {
			message += fmt.Sprintf(" or one of the init containers: %v", inits)
		}
		return "", badRequest("%s", message)
	}
	for _, l := range lists {
		for _, n := range names(pod, l.spec) {
			if n == name {
				return name, nil
			}
		}
	}
	return "", badRequest("container %s is not valid for pod %s", name, pod.GetName())
}

func names(pod *unstructured.Unstructured, field string) (all []string) {
	specs, _ := object.Slice(pod.Object, "spec", field)
	for _, s := range specs {
		spec, _ := object.ToMap(s)
		name, _ := object.String(spec, "name")
		all = append(all, name)
	}
	return all
}

// node returns the name of the node of a Pod, "" before it is scheduled.
func node(pod *unstructured.Unstructured) string {
	name, _ := object.String(pod.Object, "spec", "nodeName")
	return name
}

// A state is what the status of a Pod says of a container. The runs are nil if there is no such run.
type state struct {
	found       bool
	running     *Container
	ended, last *Container // the present run, and the one before
	waiting     string
}

// stateOf reads the status of a container.
func stateOf(pod *unstructured.Unstructured, name string) (s state) {
	status := statusOf(pod, name)
	if status == nil {
		return s
	}
	restarts, _ := object.Int64(status, "restartCount")
	s.found = true
	if at, ok := timeAt(status, "state", "running", "startedAt"); ok {
		s.running = &Container{Pod: pod, Name: name, Run: int(restarts), Started: at}
	}
	s.ended = endedRun(pod, name, status, "state")
	if s.ended != nil {
		s.ended.Run = int(restarts)
	}
	if s.last = endedRun(pod, name, status, "lastState"); s.last != nil {
		s.last.Run = int(restarts)
		if s.last.Previous = s.running != nil || s.ended != nil; s.last.Previous {
			s.last.Run--
		}
	}
	s.waiting, _ = object.String(status, "state", "waiting", "reason")
	return s
}

func statusOf(pod *unstructured.Unstructured, name string) map[string]any {
	for _, l := range lists {
		statuses, _ := object.Slice(pod.Object, "status", l.status)
		for _, s := range statuses {
			status, _ := object.ToMap(s)
			if n, _ := object.String(status, "name"); n == name {
				return status
			}
		}
	}
	return nil
}

func endedRun(pod *unstructured.Unstructured, name string, status map[string]any, field string) *Container {
	if _, ok := object.Map(status, field, "terminated"); !ok {
		return nil
	}
	c := &Container{Pod: pod, Name: name}
	c.Started, _ = timeAt(status, field, "terminated", "startedAt")
	c.Ended, _ = timeAt(status, field, "terminated", "finishedAt")
	return c
}

func timeAt(m map[string]any, path ...string) (time.Time, bool) {
	text, _ := object.String(m, path...)
	at, err := time.Parse(time.RFC3339, text)
	return at, err == nil
}

func badRequest(format string, args ...any) error {
	return apierrors.NewBadRequest(fmt.Sprintf(format, args...))
}

// notSimulated is the error of a request that nothing answers. It says what a program can give.
func notSimulated(what, c, function string) error {
	return &refusal{apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotImplemented, Reason: "NotSimulated",
		Message: fmt.Sprintf("%s of %s is not simulated: no process runs in a Pod of an in-memory cluster; set %s of containers.Options", what, c, function),
	}}}
}

// A refusal is a status error that is ErrNotSimulated.
type refusal struct{ apierrors.StatusError }

func (*refusal) Unwrap() error { return ErrNotSimulated }

// full names a container in messages.
func (c Container) full() string {
	return fmt.Sprintf("container %q in pod %q", c.Name, c.Pod.GetName())
}
