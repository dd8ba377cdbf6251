package stages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// Accepted is the type of the condition that reports what became of a Stage, like the condition of
// a route in Gateway API: True if its present version is good. The message has the faults, and says
// which version is in use instead.
const Accepted = "Accepted"

// The reasons of the condition.
const (
	ReasonCompiled   = "Compiled"   // the present version is in use
	ReasonInvalid    = "Invalid"    // it does not compile
	ReasonNotAllowed = "NotAllowed" // it does something that [stage.Options].Allow does not list
)

const (
	manager     = "stagecraft"
	longMessage = 32 << 10 // bytes that a condition takes
)

// tell writes the condition into the status of a Stage, unless the status already has it. It keeps
// the conditions of others. If the Stage has changed since, the write is a conflict. tell does not
// write a condition again over a different condition of the same version: two replicas with
// different last good versions would overwrite each other without end.
func (b *stageRecord) tell(ctx context.Context, r reconcile.Request, obj *unstructured.Unstructured) error {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	i := slices.IndexFunc(conditions, func(c any) bool { return field(c, "type") == Accepted })
	var old map[string]any
	if i >= 0 {
		old, _ = conditions[i].(map[string]any)
	}
	next := b.versionStatus.condition(obj.GetGeneration(), old, r.Now)
	switch {
	case i >= 0 && (equal(old, next) || b.told && old["observedGeneration"] == obj.GetGeneration()):
		b.told = true
		return nil
	case i >= 0:
		conditions[i] = next
	default:
		conditions = append(conditions, next)
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": obj.GetResourceVersion()},
		"status":   map[string]any{"conditions": conditions},
	})
	if err != nil {
		return reconcile.Final(err)
	}
	_, err = r.Client.Patch(ctx, stageKind, r.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager}, "status")
	b.told = err == nil
	return err
}

// condition is the condition Accepted for the status of a Stage. It keeps the time of the old one if
// its value is the same.
func (v VersionStatus) condition(generation int64, old map[string]any, now time.Time) map[string]any {
	status, reason := "True", ReasonCompiled
	if !v.Accepted() {
		status, reason = "False", v.reason()
	}
	since := now.UTC().Format(time.RFC3339)
	if at, ok := old["lastTransitionTime"].(string); ok && old["status"] == status {
		since = at
	}
	return map[string]any{
		"type": Accepted, "status": status, "reason": reason, "message": v.message(),
		"lastTransitionTime": since, "observedGeneration": generation,
	}
}

// reason says why a version is not accepted.
func (v VersionStatus) reason() string {
	if slices.ContainsFunc(v.Faults, func(f Fault) bool { return !f.Warning && !errors.Is(f.Err, stage.ErrNotAllowed) }) {
		return ReasonInvalid
	}
	return ReasonNotAllowed
}

// message lists the faults, and says which version is in use instead of a faulty one.
func (v VersionStatus) message() string {
	var lines []string
	for _, f := range v.Faults {
		lines = append(lines, f.String())
	}
	switch {
	case v.Accepted():
	case v.used && v.InUse == v.Generation:
		lines = append(lines, "the extensions that it had before stay in use")
	case v.used:
		lines = append(lines, fmt.Sprintf("generation %d stays in use", v.InUse))
	default:
		lines = append(lines, "no version is in use")
	}
	text := strings.Join(lines, "; ")
	return strings.ToValidUTF8(text[:min(len(text), longMessage)], "")
}

// equal reports whether two conditions have the same members.
func equal(a, b map[string]any) bool {
	for name, v := range b {
		if a[name] != v {
			return false
		}
	}
	return len(a) == len(b)
}
