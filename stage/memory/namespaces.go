package memory

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/patch"
)

// terminate sets the phase of a namespace to Terminating, and starts the deletion of its objects.
func (s *store) terminate(ns *record, next map[string]any) {
	status, _ := object.Map(next, "status")
	next["status"] = withField(status, "phase", "Terminating")
	s.terminated[ns] = struct{}{}
	s.examine(ns)
}

// empty deletes the objects of a terminating namespace: first the Pods, and without Pods all
// others.
func (s *store) empty(ns *record) {
	found := s.tables[pods].within(ns.key.Name)
	if len(found) == 0 {
		found = s.inNamespace(ns.key.Name)
	}
	for _, r := range found {
		if metadataOf(r.object().Object)["deletionTimestamp"] == nil {
			s.queue(collection{record: r, emptying: true})
		}
	}
	s.queue(collection{record: ns, reporting: true})
}

// okConditions are the conditions of a terminating namespace without remaining objects and errors.
var okConditions = []struct{ typ, reason, message string }{
	{"NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"},
	{"NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"},
	{"NamespaceDeletionContentFailure", "ContentDeleted", "All content successfully deleted, may be waiting on finalization"},
	{contentRemaining, "ContentRemoved", "All content successfully removed"},
	{finalizersRemaining, "ContentHasNoFinalizers", "All content-preserving finalizers finished"},
}

const (
	contentRemaining    = "NamespaceContentRemaining"
	finalizersRemaining = "NamespaceFinalizersRemaining"
)

// report writes the conditions of a terminating namespace like the namespace controller. That
// controller does not report remaining objects while Pods remain.
func (s *store) report(ns *record) {
	now := s.options.Now().UTC().Format(time.RFC3339)
	var remaining map[string]string
	if len(s.tables[pods].within(ns.key.Name)) == 0 {
		remaining = s.remaining(ns.key.Name)
	}
	var conditions []any
	for _, ok := range okConditions {
		c := map[string]any{"type": ok.typ, "status": "False", "reason": ok.reason, "message": ok.message, "lastTransitionTime": now}
		if text := remaining[ok.typ]; text != "" {
			c["status"], c["message"] = "True", text
			c["reason"] = map[string]string{contentRemaining: "SomeResourcesRemain", finalizersRemaining: "SomeFinalizersRemain"}[ok.typ]
		}
		conditions = append(conditions, c)
	}
	next := fork(ns.object().Object)
	status, _ := object.Map(next, "status")
	if old, _ := object.Slice(status, "conditions"); !patch.Equal(keepTimes(old, conditions), old) {
		next["status"] = withField(status, "conditions", conditions)
		s.put(ns, next)
	}
}

// keepTimes keeps the time of each condition whose status is the same as before.
func keepTimes(old, conditions []any) []any {
	for i, c := range conditions {
		if i >= len(old) {
			break
		}
		before, _ := object.ToMap(old[i])
		if now := c.(map[string]any); before["type"] == now["type"] && before["status"] == now["status"] {
			now["lastTransitionTime"] = before["lastTransitionTime"]
		}
	}
	return conditions
}

// remaining returns messages about the remaining objects of a namespace, by the type of their
// condition.
func (s *store) remaining(namespace string) map[string]string {
	resources, finalizers := map[string]int{}, map[string]int{}
	for _, r := range s.inNamespace(namespace) {
		resources[r.kind.Resource+"."+r.kind.Group]++
		for _, f := range finalizersOf(metadataOf(r.object().Object)) {
			finalizers[fmt.Sprint(f)]++
		}
	}
	return map[string]string{
		contentRemaining:    counts("Some resources are remaining: ", "%s has %d resource instances", resources),
		finalizersRemaining: counts("Some content in the namespace has finalizers remaining: ", "%s in %d resource instances", finalizers),
	}
}

func counts(prefix, format string, of map[string]int) string {
	var parts []string
	for name, n := range of {
		parts = append(parts, fmt.Sprintf(format, name, n))
	}
	if len(parts) == 0 {
		return ""
	}
	slices.Sort(parts)
	return prefix + strings.Join(parts, ", ")
}

// goOnEmptying deletes the other objects of a terminating namespace after its last Pod.
func (s *store) goOnEmptying(namespace string) {
	ns := s.tables[namespaces].records[types.NamespacedName{Name: namespace}]
	if _, is := s.terminated[ns]; is && len(s.tables[pods].within(namespace)) == 0 {
		s.examine(ns)
	}
}
