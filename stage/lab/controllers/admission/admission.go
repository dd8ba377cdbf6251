package admission

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/quota"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// Hooks returns hooks that call [Admit] for each write to a cluster, and that count what quotas limit.
func Hooks() memory.Hooks {
	return memory.Hooks{Name: "admission", Admit: quota.Complete, Review: Admit, Removed: quota.Refund}
}

// Admit does everything that this package does, and quotas. It is a Review of memory.Hooks.
func Admit(v *memory.Review) error {
	for _, admit := range []func(*memory.Review) error{DropFields, LimitRanges, Protect, NodePorts, quota.Admit} {
		if err := admit(v); err != nil {
			return err
		}
	}
	return nil
}

// AdmitUnprotected is Admit without Protect, for a cluster without the controllers that remove the
// finalizers of Protect.
func AdmitUnprotected(v *memory.Review) error {
	for _, admit := range []func(*memory.Review) error{DropFields, LimitRanges, NodePorts, quota.Admit} {
		if err := admit(v); err != nil {
			return err
		}
	}
	return nil
}

var protections = map[schema.GroupResource]string{
	{Resource: "persistentvolumeclaims"}: "kubernetes.io/pvc-protection",
	{Resource: "persistentvolumes"}:      "kubernetes.io/pv-protection",
}

// Protect gives new claims and volumes the finalizer that keeps them while they are in use.
func Protect(v *memory.Review) error {
	finalizer := protections[v.Resource]
	if v.Old != nil || finalizer == "" || slices.Contains(v.New.GetFinalizers(), finalizer) {
		return nil
	}
	metadata := fields.Map(v.New.Object, "metadata")
	metadata["finalizers"] = append(slices.Clone(fields.Slice(metadata, "finalizers")), finalizer)
	return nil
}

var statefulSets = schema.GroupResource{Group: "apps", Resource: "statefulsets"}

// DropFields removes spec.updateStrategy.rollingUpdate.maxUnavailable of StatefulSets, whose gate
// MaxUnavailableStatefulSet is off in Kubernetes 1.36, unless the stored object has it.
func DropFields(v *memory.Review) error {
	path := []string{"spec", "updateStrategy", "rollingUpdate", "maxUnavailable"}
	if v.Resource != statefulSets || !has(v.New.Object, path) || v.Old != nil && has(v.Old.Object, path) {
		return nil
	}
	v.New.Object["spec"] = without(fields.Map(v.New.Object, "spec"), path[1:])
	return nil
}

func has(obj map[string]any, path []string) bool {
	_, found := fields.Map(obj, path[:len(path)-1]...)[path[len(path)-1]]
	return found
}

// without returns a map without the field at a path.
func without(m map[string]any, path []string) map[string]any {
	m = maps.Clone(m)
	if len(path) == 1 {
		delete(m, path[0])
	} else {
		m[path[0]] = without(fields.Map(m, path[0]), path[1:])
	}
	return m
}
