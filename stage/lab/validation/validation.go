// Package validation refuses objects of built-in kinds that kube-apiserver 1.36 refuses, in its
// words:
//
//	cluster := memory.New(memory.Options{})
//	cluster.Extend(defaults.Hooks())
//	cluster.Extend(validation.Hooks())
//
// It expects objects whose defaults are filled in; see package defaults. A lab (package labtest)
// and the server of package stage/lab/apiserver use it.
//
// It does not check everything that kube-apiserver checks. It was compared on two sets of writes,
// with at least 20 of each kind:
//
//   - Valid objects of all built-in kinds with one fault: a field is missing or has a wrong value,
//     a list has an element twice, or the metadata is wrong. Of 5,481 objects that kube-apiserver
//     1.36 refuses, this package refuses 96 % with the same causes.
//   - Changes of one field of stored objects. Of 6,127 changes that kube-apiserver refuses, this
//     package refuses 95 % with the same causes.
//
// TestRefusedObjects and TestRefusedUpdates of internal/dev/e2e check these numbers, for each kind.
// kube-apiserver refuses every object that this package refuses, except for node ports out of range
// in a dry run. Writes to subresources (status, scale) are not checked.
//
// These are not checked:
//
//   - CEL expressions of DeviceClasses and ResourceClaims, and the parameters for their drivers
//   - that the FlowSchemas and PriorityLevelConfigurations which a kube-apiserver creates itself
//     stay as they are
//   - ResourceSlices
//   - definitions, webhooks and policies, which the server of package stage/lab/apiserver checks
//
// An update of spec.nodeName may bind a Pod, as the scheduler of a lab does.
package validation

import (
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// Hooks returns the hooks of a cluster that refuse invalid objects.
func Hooks() memory.Hooks { return memory.Hooks{Name: "validation", Validate: Check} }

// kinds are the checks of each kind.
var kinds = map[schema.GroupResource]rules{
	{Resource: "pods"}:                                                               pod,
	{Resource: "podtemplates"}:                                                       podTmpl,
	{Resource: "configmaps"}:                                                         settings,
	{Resource: "secrets"}:                                                            secrets,
	{Resource: "services"}:                                                           service,
	{Resource: "persistentvolumeclaims"}:                                             claim,
	{Resource: "persistentvolumes"}:                                                  volumeRule,
	{Resource: "limitranges"}:                                                        limits,
	{Resource: "resourcequotas"}:                                                     quota,
	{Resource: "endpoints"}:                                                          points,
	{Resource: "nodes"}:                                                              node,
	{Resource: "events"}:                                                             {of("", event)},
	{Resource: "replicationcontrollers"}:                                             replicationController,
	{Group: "apps", Resource: "deployments"}:                                         deployment,
	{Group: "apps", Resource: "replicasets"}:                                         replicaSet,
	{Group: "apps", Resource: "daemonsets"}:                                          daemonSet,
	{Group: "apps", Resource: "statefulsets"}:                                        statefulSet,
	{Group: "apps", Resource: "controllerrevisions"}:                                 {of("data", atCreation(anyData)), given("revision", notNegative)},
	{Group: "batch", Resource: "jobs"}:                                               job,
	{Group: "batch", Resource: "cronjobs"}:                                           cronJob,
	{Group: "autoscaling", Resource: "horizontalpodautoscalers"}:                     autoscaler,
	{Group: "policy", Resource: "poddisruptionbudgets"}:                              budget,
	{Group: "networking.k8s.io", Resource: "ingresses"}:                              ingress,
	{Group: "networking.k8s.io", Resource: "ingressclasses"}:                         ingressClass,
	{Group: "networking.k8s.io", Resource: "networkpolicies"}:                        networkPolicy,
	{Group: "storage.k8s.io", Resource: "storageclasses"}:                            storageClass,
	{Group: "storage.k8s.io", Resource: "csinodes"}:                                  csiNode,
	{Group: "storage.k8s.io", Resource: "csistoragecapacities"}:                      capacities,
	{Group: "storage.k8s.io", Resource: "volumeattachments"}:                         attachment,
	{Group: "coordination.k8s.io", Resource: "leases"}:                               lease,
	{Group: "discovery.k8s.io", Resource: "endpointslices"}:                          slice,
	{Group: "rbac.authorization.k8s.io", Resource: "roles"}:                          role,
	{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}:                   clusterRole,
	{Group: "rbac.authorization.k8s.io", Resource: "rolebindings"}:                   binding,
	{Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"}:            clusters,
	{Group: "node.k8s.io", Resource: "runtimeclasses"}:                               runtimes,
	{Group: eventsGroup, Resource: "events"}:                                         {of("", event)},
	{Resource: "namespaces"}:                                                         {of("spec", in(rules{given("finalizers", atCreation(namespaceFinalizers))}))},
	{Resource: "serviceaccounts"}:                                                    nil,
	{Group: "scheduling.k8s.io", Resource: "priorityclasses"}:                        priorityClass,
	{Group: "storage.k8s.io", Resource: "csidrivers"}:                                csiDriver,
	{Group: "storage.k8s.io", Resource: "volumeattributesclasses"}:                   attributesClass,
	{Group: "networking.k8s.io", Resource: "servicecidrs"}:                           cidrs,
	{Group: "networking.k8s.io", Resource: "ipaddresses"}:                            ipAddress,
	{Group: "flowcontrol.apiserver.k8s.io", Resource: "flowschemas"}:                 flowSchema,
	{Group: "flowcontrol.apiserver.k8s.io", Resource: "prioritylevelconfigurations"}: priorityLevel,
	{Group: "resource.k8s.io", Resource: "deviceclasses"}:                            deviceClass,
	{Group: "resource.k8s.io", Resource: "resourceclaims"}:                           deviceClaim,
	{Group: "resource.k8s.io", Resource: "resourceclaimtemplates"}:                   deviceTmpl,
	{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}:           signingRequest,
}

// Check refuses an invalid object of a write. It is a memory.Hooks.Validate. The error is Invalid
// (422), with a cause for each fault.
func Check(v *memory.Review) error {
	if v.Subresource != "" {
		return nil
	}
	f := &faults{kind: v.Kind.Kind, object: v.Name.Name}
	if v.Old != nil {
		f.before = v.Old.Object
	}
	obj := v.New.Object
	if v.Resource.Resource == "events" {
		f.isStrict = v.Resource.Group == eventsGroup || v.Context().Value(groupKey{}) == eventsGroup
	}
	f.checkMetadata(v)
	rs, known := kinds[v.Resource]
	switch {
	case !known:
	case v.Old == nil:
		rs.check(f, nil, obj)
	default:
		update(f, v, rs)
	}
	if len(f.list) == 0 {
		return nil
	}
	return errors.NewInvalid(v.Kind.GroupKind(), v.Name.Name, f.list)
}

// Metadata returns the faults of the metadata of an object alone, which Check refuses too.
func Metadata(v *memory.Review) field.ErrorList {
	f := &faults{kind: v.Kind.Kind, object: v.Name.Name}
	f.checkMetadata(v)
	return f.list
}

func (f *faults) checkMetadata(v *memory.Review) {
	if v.Old == nil || !same(v.Old.Object, v.New.Object, "metadata") {
		metadata(f, v)
	}
}

func anyData(f fieldOf) {
	if f.value == nil {
		f.add(field.Required(f.path(), "data is mandatory"))
	}
}
