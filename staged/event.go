package staged

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// An Event is something that happened to the rollout, as a Kubernetes Event has it.
type Event struct{ Type, Reason, Message string }

// did notes what was written.
func (r *playing) did(reason, format string, args ...any) {
	r.events = append(r.events, Event{"Normal", reason, fmt.Sprintf(format, args...)})
}

// passed notes which stages a new status says were satisfied; of the last one the Decision tells.
func (r *playing) passed(old, now v1alpha1.Status) {
	was := map[string]v1alpha1.Phase{}
	for _, s := range old.Stages {
		was[s.Name] = s.Phase
	}
	for _, s := range now.Stages {
		if s.Name != now.ActiveStage && s.Phase == v1alpha1.Succeeded && was[s.Name] != s.Phase {
			r.did("StageSatisfied", "stage %q is satisfied", s.Name)
		}
	}
}

// announce writes what has happened as Kubernetes Events. Each is tried once: a Player does not stop for them.
func (p *Player) announce(ctx context.Context, name string, r *playing) {
	events := r.events
	r.events = nil
	if p.options.Events == nil {
		return
	}
	for _, e := range events {
		p.stamp = max(p.stamp+1, time.Now().UnixNano())
		if _, err := p.options.Events.Create(ctx, r.object(e, name, p.stamp), metav1.CreateOptions{}); err != nil {
			p.failed(name, err)
		}
	}
}

// object is an Event of v1 as client-go's recorder makes it. The stamp, in nanoseconds, makes its name unique.
func (r *playing) object(e Event, name string, stamp int64) *unstructured.Unstructured {
	const component = "stagecraft"
	apiVersion, kind := stagedKind.ToAPIVersionAndKind()
	at := time.Unix(0, stamp).UTC().Format(time.RFC3339)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Event",
		"metadata":       map[string]any{"namespace": metav1.NamespaceDefault, "name": fmt.Sprintf("%s.%x", name, stamp)},
		"involvedObject": map[string]any{"apiVersion": apiVersion, "kind": kind, "name": name, "uid": string(r.uid), "resourceVersion": r.version},
		"type":           e.Type, "reason": e.Reason, "message": e.Message,
		"firstTimestamp": at, "lastTimestamp": at, "count": int64(1),
		"source": map[string]any{"component": component}, "reportingComponent": component, "reportingInstance": "",
	}}
}
