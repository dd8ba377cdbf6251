package quota

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// Admit is a Review of memory.Hooks. Like an API server, it refuses a write that exceeds a
// ResourceQuota, and adds an accepted write to status.used of the quotas. A quota without a status
// refuses nothing; [ResourceQuotas] writes the status.
func Admit(v *memory.Review) error {
	if v.Name.Namespace == "" {
		return nil
	}
	quotas := v.List(kinds.ResourceQuota, v.Name.Namespace)
	delta := deltaOf(v, quotas)
	if len(delta) == 0 {
		return nil
	}
	after := map[string]Quantities{} // used, by quota
	for _, q := range quotas {
		used, err := spend(v, q, delta)
		if err != nil {
			return apierrors.NewForbidden(v.Resource, v.Name.Name, err)
		}
		if used != nil {
			after[q.GetName()] = used
		}
	}
	for _, q := range quotas {
		if used := after[q.GetName()]; used != nil {
			status := fields.CloneMap(q.Object, "status")
			status["used"] = used.write()
			v.PutStatus(kinds.ResourceQuota, types.NamespacedName{Namespace: q.GetNamespace(), Name: q.GetName()}, status)
		}
	}
	return nil
}

// deltaOf returns the additional use of a write. A change counts only for Services and claims.
func deltaOf(v *memory.Review, quotas []*unstructured.Unstructured) Quantities {
	switch {
	case len(quotas) == 0:
		return nil
	case v.Old == nil:
		return usage(v.Resource, v.New.Object).withoutZeros()
	case v.Resource == services || v.Resource == claims:
		return usage(v.Resource, v.New.Object).minus(usage(v.Resource, v.Old.Object)).withoutZeros()
	}
	return nil
}

// spend returns the use of a quota after a write; nil if the quota is not about the object.
func spend(v *memory.Review, quota *unstructured.Unstructured, delta Quantities) (Quantities, error) {
	hard, used := read(fields.Map(quota.Object, "status", "hard")), read(fields.Map(quota.Object, "status", "used"))
	names := matching(v.Resource, hard.names())
	if len(names) == 0 || !inScope(quota.Object, v.Resource, v.New.Object) {
		return nil, nil
	}
	if !isCounted(v.Resource) {
		used["count/"+v.Resource.String()] = pieces(int64(len(v.List(v.Kind, v.Name.Namespace))))
	}
	if v.Resource == pods {
		if missing := unsaid(v.New.Object, names); missing != "" {
			return nil, fmt.Errorf("failed quota: %s: must specify %s", quota.GetName(), missing)
		}
	}
	if known := used.of(names); len(known) < len(names) {
		return nil, fmt.Errorf("status unknown for quota: %s, resources: %s", quota.GetName(), strings.Join(names, ","))
	}
	requested := delta.of(names)
	if len(requested) == 0 {
		return nil, nil
	}
	next := used.plus(requested)
	var exceeded []string
	for _, name := range requested.names() {
		if n := next[name]; n.Cmp(hard[name]) > 0 {
			exceeded = append(exceeded, name)
		}
	}
	if len(exceeded) > 0 {
		return nil, fmt.Errorf("exceeded quota: %s, requested: %s, used: %s, limited: %s",
			quota.GetName(), requested.of(exceeded), used.of(exceeded), hard.of(exceeded))
	}
	return next, nil
}
