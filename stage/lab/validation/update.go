package validation

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// immutable are the fields that no update may change, by kind: ValidateImmutableField in the
// functions Validate…Update of k8s.io/kubernetes/pkg/apis/*/validation.
var immutable = map[schema.GroupResource][][]string{
	{Group: "apps", Resource: "deployments"}:                       {{"spec", "selector"}},
	{Group: "apps", Resource: "replicasets"}:                       {{"spec", "selector"}},
	{Group: "apps", Resource: "daemonsets"}:                        {{"spec", "selector"}},
	{Group: "apps", Resource: "controllerrevisions"}:               {{"data"}},
	{Group: "batch", Resource: "jobs"}:                             {{"spec", "selector"}, {"spec", "completionMode"}, {"spec", "podFailurePolicy"}, {"spec", "backoffLimitPerIndex"}, {"spec", "managedBy"}, {"spec", "successPolicy"}},
	{Group: "node.k8s.io", Resource: "runtimeclasses"}:             {{"handler"}},
	{Group: "discovery.k8s.io", Resource: "endpointslices"}:        {{"addressType"}},
	{Group: "networking.k8s.io", Resource: "ingressclasses"}:       {{"spec", "controller"}},
	{Group: "networking.k8s.io", Resource: "ipaddresses"}:          {{"spec", "parentRef"}},
	{Group: "storage.k8s.io", Resource: "storageclasses"}:          {{"parameters"}, {"provisioner"}, {"reclaimPolicy"}, {"volumeBindingMode"}},
	{Group: "scheduling.k8s.io", Resource: "priorityclasses"}:      {{"preemptionPolicy"}},
	{Group: "resource.k8s.io", Resource: "resourceclaims"}:         {{"spec"}},
	{Group: "resource.k8s.io", Resource: "resourceclaimtemplates"}: {{"spec"}},
	{Group: "storage.k8s.io", Resource: "volumeattachments"}:       {{"spec"}},
	{Group: "storage.k8s.io", Resource: "csistoragecapacities"}:    {{"nodeTopology"}, {"storageClassName"}},
	{Resource: "secrets"}:                                          {{"type"}},
}

// defaulted are fields that only objects which were stored without their defaults do not have.
var defaulted = map[string]bool{"completionMode": true, "preemptionPolicy": true, "reclaimPolicy": true, "volumeBindingMode": true, "type": true}

// update checks that every change is allowed.
func update(f *faults, v *memory.Review, rs rules) {
	before, now := v.Old.Object, v.New.Object
	if !isChanged(before, now) {
		return
	}
	if !onlyChanges[v.Resource] {
		rs.check(f, nil, now)
	}
	for _, path := range immutable[v.Resource] {
		old, is := valueAt(before, path)
		next, _ := valueAt(now, path)
		if is && !alike(old, next) || !is && next != nil && !defaulted[path[len(path)-1]] {
			if _, isText := old.(string); isText && next == nil {
				next = ""
			}
			f.add(field.Invalid(field.NewPath(path[0], path[1:]...), next, "field is immutable"))
		}
	}
	if list := frozen[v.Resource]; list != nil {
		list(f, before, now)
	}
}

// isChanged reports whether more than the metadata and the status changes.
func isChanged(before, now map[string]any) bool {
	changed := len(before) != len(now)
	for name := range now {
		changed = changed || name != "metadata" && name != "status" && !same(before, now, name)
	}
	return changed
}

// onlyChanges are the kinds whose updates are not checked further.
var onlyChanges = map[schema.GroupResource]bool{
	{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}: true,
	{Group: "resource.k8s.io", Resource: "resourceclaims"}:                 true,
	{Group: "networking.k8s.io", Resource: "servicecidrs"}:                 true,
	{Group: "networking.k8s.io", Resource: "ipaddresses"}:                  true,
}

// frozen are checks of updates that say more than that a field is immutable.
var frozen = map[schema.GroupResource]func(f *faults, before, now map[string]any){
	{Group: "apps", Resource: "statefulsets"}:                             statefulSetUpdate,
	{Group: "batch", Resource: "jobs"}:                                    jobUpdate,
	{Resource: "pods"}:                                                    podUpdate,
	{Group: "rbac.authorization.k8s.io", Resource: "rolebindings"}:        roleRefUpdate,
	{Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"}: roleRefUpdate,
	{Resource: "configmaps"}:                                              immutableConfig,
	{Resource: "secrets"}:                                                 immutableConfig,
	{Resource: "events"}:                                                  eventUpdate,
	{Resource: "nodes"}:                                                   nodeUpdate,
	{Resource: "services"}:                                                serviceUpdate,
	{Resource: "persistentvolumes"}:                                       volumeUpdate,
	{Resource: "persistentvolumeclaims"}:                                  claimUpdate,
	{Resource: "resourcequotas"}:                                          quotaUpdate,
	{Group: "scheduling.k8s.io", Resource: "priorityclasses"}:             priorityUpdate,
	{Group: "storage.k8s.io", Resource: "csinodes"}:                       csiNodeUpdate,
	{Group: "storage.k8s.io", Resource: "csidrivers"}:                     csiDriverUpdate,
	{Group: "storage.k8s.io", Resource: "volumeattributesclasses"}:        attributesClassUpdate,
	{Group: "networking.k8s.io", Resource: "ipaddresses"}:                 addressUpdate,
	{Group: "networking.k8s.io", Resource: "servicecidrs"}:                cidrUpdate,
}

const statefulSetText = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"

func statefulSetUpdate(f *faults, before, now map[string]any) {
	mutable := map[string]bool{"replicas": true, "ordinals": true, "template": true, "updateStrategy": true, "revisionHistoryLimit": true, "persistentVolumeClaimRetentionPolicy": true, "minReadySeconds": true}
	old, next := nested(before, "spec"), nested(now, "spec")
	for _, m := range []map[string]any{old, next} {
		for name := range m {
			if !mutable[name] && !alike(old[name], next[name]) {
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
