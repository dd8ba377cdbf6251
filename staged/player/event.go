package player

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/listwatch"
	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// addEvent records something that was written. writeEvents makes Kubernetes Events of these
// records.
func (s *policyState) addEvent(reason, format string, args ...any) {
	s.events = append(s.events, staged.Event{Type: "Normal", Reason: reason, Message: fmt.Sprintf(format, args...)})
}

// addStageEvents records which stages became satisfied with a new status. For the last stage the
// Decision has its own event.
func (s *policyState) addStageEvents(old, now v1alpha1.Status) {
	before := map[string]v1alpha1.Phase{}
	for _, stage := range old.Stages {
		before[stage.Name] = stage.Phase
	}
	for _, stage := range now.Stages {
		if stage.Name != now.ActiveStage && stage.Phase == v1alpha1.Succeeded && before[stage.Name] != stage.Phase {
			s.addEvent("StageSatisfied", "stage %q is satisfied", stage.Name)
		}
	}
}

// writeEvents writes what has happened as Kubernetes Events. Each is tried once: a failure goes to
// Trace and does not hold up the rollout.
func (p *Player) writeEvents(ctx context.Context, name string, s *policyState) {
	events := s.events
	s.events = nil
	if p.options.Events == nil {
		return
	}
	for _, e := range events {
		p.stamp = max(p.stamp+1, p.wall().UnixNano())
		_, err := listwatch.Request(ctx, listwatch.RequestTimeout, func(ctx context.Context) (any, error) {
			return p.options.Events.Create(ctx, s.eventObject(e, name, p.stamp), metav1.CreateOptions{})
		})
		if err != nil {
			p.failed(name, err)
		}
	}
}

// eventObject returns an Event of v1 in the shape that client-go's recorder gives it. The stamp, in
// nanoseconds, makes its name unique.
func (s *policyState) eventObject(e staged.Event, name string, stamp int64) *unstructured.Unstructured {
	const component = "stagecraft"
	apiVersion, kind := stagedPolicyKind.ToAPIVersionAndKind()
	at := time.Unix(0, stamp).UTC().Format(time.RFC3339)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Event",
		"metadata": map[string]any{"namespace": metav1.NamespaceDefault, "name": fmt.Sprintf("%s.%x", name, stamp)},
		"involvedObject": map[string]any{
			"apiVersion": apiVersion, "kind": kind, "name": name, "uid": string(s.uid), "resourceVersion": s.version,
		},
		"type": e.Type, "reason": e.Reason, "message": e.Message,
		"firstTimestamp": at, "lastTimestamp": at, "count": int64(1),
		"source": map[string]any{"component": component}, "reportingComponent": component, "reportingInstance": "",
	}}
}
