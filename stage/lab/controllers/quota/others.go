package quota

import (
	"maps"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// isIgnored reports whether quotas never count the objects of a resource.
func isIgnored(of schema.GroupResource) bool {
	return of.Resource == "events" && (of.Group == "" || of.Group == "events.k8s.io")
}

// uncounted returns the names that count objects of kinds that the controller does not watch.
func uncounted(names []string) (found []string) {
	for _, name := range names {
		of, isCount := strings.CutPrefix(name, countPrefix)
		if isCount && !isCounted(schema.ParseGroupResource(of)) {
			found = append(found, name)
		}
	}
	return found
}

// Complete is an Admit of memory.Hooks. When a status of a ResourceQuota is written that does not
// say how many objects of a kind there are, and [ResourceQuotas] does not watch the kind, Complete
// counts them. An unknown kind stays out of the status.
func Complete(v *memory.Review) error {
	if v.Resource != resourceQuotas || v.Subresource != "status" || v.New == nil {
		return nil
	}
	status := fields.Map(v.New.Object, "status")
	used := maps.Clone(fields.Map(status, "used"))
	for _, name := range uncounted(read(fields.Map(status, "hard")).names()) {
		of := schema.ParseGroupResource(strings.TrimPrefix(name, countPrefix))
		n, known := v.Count(of, v.Name.Namespace)
		if !known || used[name] != nil {
			continue
		}
		if !inScope(v.New.Object, of, nil) {
			n = 0
		}
		if used == nil {
			used = map[string]any{}
		}
		used[name] = strconv.Itoa(n)
	}
	if len(used) > 0 {
		status = maps.Clone(status)
		status["used"] = used
		v.New.Object["status"] = status
	}
	return nil
}

// Refund is a Removed of memory.Hooks. It counts the objects of a kind again after one was removed,
// if [ResourceQuotas] does not watch the kind.
func Refund(v *memory.Review) {
	if v.Name.Namespace == "" || isCounted(v.Resource) || isIgnored(v.Resource) {
		return
	}
	for _, q := range v.List(kinds.ResourceQuota, v.Name.Namespace) {
		used, name := read(fields.Map(q.Object, "status", "used")), countPrefix+v.Resource.String()
		if _, isCount := used[name]; !isCount || !inScope(q.Object, v.Resource, nil) {
			continue
		}
		n, _ := v.Count(v.Resource, v.Name.Namespace)
		used[name] = pieces(int64(n))
		putUsed(v, q, used)
	}
}
