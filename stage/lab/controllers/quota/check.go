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
	if v.Name.Namespace == "" || !isCharged(v) {
		return nil
	}
	quotas := v.List(kinds.ResourceQuota, v.Name.Namespace)
	if len(quotas) == 0 {
		return nil
	}
	write := chargeOf(v)
	after := map[string]Quantities{} // used, by quota
	for _, q := range quotas {
		used, err := spend(v, q, write)
		if err != nil {
			return apierrors.NewForbidden(v.Resource, v.Name.Name, err)
		}
		if used != nil {
			after[q.GetName()] = used
		}
	}
	for _, q := range quotas {
		if used := after[q.GetName()]; used != nil {
			putUsed(v, q, used)
		}
	}
	return nil
}

// putUsed writes status.used of a quota.
func putUsed(v *memory.Review, quota *unstructured.Unstructured, used Quantities) {
	status := fields.CloneMap(quota.Object, "status")
	status["used"] = used.write()
	v.PutStatus(kinds.ResourceQuota, types.NamespacedName{Namespace: quota.GetNamespace(), Name: quota.GetName()}, status)
}

// isCharged reports whether a write can use more of a quota: a creation, or a change of a Service, a
// claim for a volume or for devices, or the scopes of a Pod.
func isCharged(v *memory.Review) bool {
	switch {
	case isIgnored(v.Resource):
		return false
	case v.Old == nil || v.Resource == services || v.Resource == claims || v.Resource == deviceClaims:
		return true
	}
	return v.Resource == pods && hasDeadline(v.Old.Object) != hasDeadline(v.New.Object)
}

// A charge is the use of an object after a write, and the use that the write adds.
type charge struct{ whole, added Quantities }

func chargeOf(v *memory.Review) charge {
	c := charge{whole: usage(v.Resource, v.New.Object).withoutZeros()}
	if c.added = c.whole; v.Old != nil {
		c.added = c.whole.minus(usage(v.Resource, v.Old.Object)).withoutZeros()
	}
	return c
}

// to returns what a write adds to the use of a quota: the whole object if its old state was not in
// the scopes of the quota.
func (c charge) to(quota *unstructured.Unstructured, v *memory.Review) Quantities {
	if v.Old != nil && inScope(quota.Object, v.Resource, v.Old.Object) {
		return c.added
	}
	return c.whole
}

// spend returns the use of a quota after a write; nil if the quota is not about the object.
func spend(v *memory.Review, quota *unstructured.Unstructured, write charge) (Quantities, error) {
	hard, used := read(fields.Map(quota.Object, "status", "hard")), read(fields.Map(quota.Object, "status", "used"))
	names := matching(v.Resource, hard.names())
	if len(names) == 0 || !inScope(quota.Object, v.Resource, v.New.Object) {
		return nil, nil
	}
	if !isCounted(v.Resource) {
		n, _ := v.Count(v.Resource, v.Name.Namespace)
		used[countPrefix+v.Resource.String()] = pieces(int64(n))
	}
	if v.Resource == pods {
		if missing := unsaid(v.New.Object, names); missing != "" {
			return nil, fmt.Errorf("failed quota: %s: must specify %s", quota.GetName(), missing)
		}
	}
	if known := used.of(names); len(known) < len(names) {
		return nil, fmt.Errorf("status unknown for quota: %s, resources: %s", quota.GetName(), strings.Join(names, ","))
	}
	requested := write.to(quota, v).of(names)
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
