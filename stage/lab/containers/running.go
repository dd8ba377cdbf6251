package containers

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// whileRunning returns a context that ends with the run of a container, or with its Pod if it has no
// name, and a function to call when the context is not needed any more.
func (r *Runtime) whileRunning(ctx context.Context, c Container) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	states, err := r.cluster.Watch(ctx, podKind, c.Pod.GetNamespace(), metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", c.Pod.GetName()).String(),
	})
	if err != nil { // ctx has ended
		return ctx, func() { cancel(nil) }
	}
	if pod, err := r.cluster.Get(ctx, podKind, types.NamespacedName{Namespace: c.Pod.GetNamespace(), Name: c.Pod.GetName()}); err != nil || !c.runsIn(pod) {
		cancel(ErrEnded) // before it was watched
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for e := range states.ResultChan() {
			if pod, ok := e.Object.(*unstructured.Unstructured); ok && e.Type != watch.Bookmark && (e.Type == watch.Deleted || !c.runsIn(pod)) {
				cancel(ErrEnded)
				return
			}
		}
	}()
	return ctx, func() {
		states.Stop()
		<-watched
		cancel(nil)
	}
}

// runsIn reports whether a later state of the Pod still has the run of a container.
func (c Container) runsIn(pod *unstructured.Unstructured) bool {
	if pod.GetUID() != c.Pod.GetUID() {
		return false
	}
	if c.Name == "" {
		phase, _ := object.String(pod.Object, "status", "phase")
		return phase == "Running"
	}
	running := stateOf(pod, c.Name).running
	return running != nil && running.Run == c.Run
}

// hasEnded reports whether a context of whileRunning has ended with its container.
func hasEnded(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrEnded) }
