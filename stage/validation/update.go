package validation

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// immutable are the fields that no update may change, by kind.
var immutable = map[schema.GroupResource][][]string{
	{Group: "apps", Resource: "deployments"}:                              {{"spec", "selector"}},
	{Group: "apps", Resource: "replicasets"}:                              {{"spec", "selector"}},
	{Group: "apps", Resource: "daemonsets"}:                               {{"spec", "selector"}},
	{Group: "apps", Resource: "controllerrevisions"}:                      {{"data"}},
	{Group: "batch", Resource: "jobs"}:                                    {{"spec", "selector"}, {"spec", "completionMode"}, {"spec", "podFailurePolicy"}, {"spec", "backoffLimitPerIndex"}},
	{Group: "storage.k8s.io", Resource: "storageclasses"}:                 {{"provisioner"}, {"reclaimPolicy"}, {"volumeBindingMode"}},
	{Group: "scheduling.k8s.io", Resource: "priorityclasses"}:             {{"value"}, {"preemptionPolicy"}},
	{Group: "rbac.authorization.k8s.io", Resource: "rolebindings"}:        {{"roleRef"}},
	{Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"}: {{"roleRef"}},
	{Group: "node.k8s.io", Resource: "runtimeclasses"}:                    {{"handler"}},
	{Group: "discovery.k8s.io", Resource: "endpointslices"}:               {{"addressType"}},
	{Resource: "secrets"}:                                                 {{"type"}},
}

// update checks what changed, and that it may.
func update(f *faults, v *memory.Review, rs rules) {
	before, now := v.Old.Object, v.New.Object
	changed := false
	for name := range now {
		changed = changed || name != "metadata" && name != "status" && !same(before, now, name)
	}
	if !changed {
		return
	}
	rs.check(f, nil, now)
	for _, path := range immutable[v.Resource] {
		old, is := valueAt(before, path)
		next, _ := valueAt(now, path)
		if is && !object.DeepEqual(old, next) {
			f.add(field.Invalid(field.NewPath(path[0], path[1:]...), next, "field is immutable"))
		}
	}
	if list := frozen[v.Resource]; list != nil {
		list(f, before, now)
	}
}

// frozen are checks of updates that say more than that a field is immutable.
var frozen = map[schema.GroupResource]func(f *faults, before, now map[string]any){
	{Group: "apps", Resource: "statefulsets"}: statefulSetUpdate,
	{Resource: "configmaps"}:                  immutableConfig,
	{Resource: "secrets"}:                     immutableConfig,
}

const statefulSetText = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"

func statefulSetUpdate(f *faults, before, now map[string]any) {
	mutable := map[string]bool{"replicas": true, "ordinals": true, "template": true, "updateStrategy": true, "revisionHistoryLimit": true, "persistentVolumeClaimRetentionPolicy": true, "minReadySeconds": true}
	old, next := nested(before, "spec"), nested(now, "spec")
	for _, m := range []map[string]any{old, next} {
		for name := range m {
			if !mutable[name] && !object.DeepEqual(old[name], next[name]) {
				f.add(field.Forbidden(field.NewPath("spec"), statefulSetText))
				return
			}
		}
	}
}

func valueAt(obj map[string]any, path []string) (any, bool) {
	v, is := nested(obj, path[:len(path)-1]...)[path[len(path)-1]]
	return v, is
}

// same reports whether two objects share the map in a field, or have equal values there.
func same(a, b map[string]any, name string) bool {
	one, isMap := a[name].(map[string]any)
	other, _ := b[name].(map[string]any)
	if isMap && reflect.ValueOf(one).UnsafePointer() == reflect.ValueOf(other).UnsafePointer() {
		return true
	}
	return object.DeepEqual(a[name], b[name])
}
