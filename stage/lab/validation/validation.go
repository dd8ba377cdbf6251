// Package validation refuses objects of built-in kinds that kube-apiserver 1.36 refuses, in its
// words:
//
//	cluster := memory.New(memory.Options{})
//	cluster.Extend(defaults.Hooks())
//	cluster.Extend(validation.Hooks())
//
// It looks at what defaults have been filled into, see package defaults. A lab, see package
// labtest, and the server of package stage/lab/apiserver have it.
//
// It is not all that kube-apiserver checks. Of sound objects of all built-in kinds thousands with one
// fault were made: a field is missing or has a wrong value, an element of a list is there twice, or
// the metadata is wrong; and thousands of changes of one field of stored objects. Of 5,481 objects
// that kube-apiserver 1.36 refuses, 96 % are refused with the same causes, of 6,127 changes 95 %: at
// least 20 of each kind. TestRefusedObjects and TestRefusedUpdates of internal/dev/e2e hold the
// numbers, for each kind. What is refused here kube-apiserver refuses, too, but for node ports out of
// range in a dry run. What is written to subresources (status, scale) is not checked.
//
// Not checked are: expressions in CEL of DeviceClasses and ResourceClaims, and the parameters for
// their drivers; that the FlowSchemas and PriorityLevelConfigurations which a kube-apiserver makes
// itself stay as they are; ResourceSlices; definitions, webhooks and policies, which the server of
// package stage/lab/apiserver checks. A Pod may be bound by an update of spec.nodeName, as the scheduler
// of a lab does it.
package validation

import (
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// Hooks are the hooks of a cluster that refuse what is not valid.
func Hooks() memory.Hooks { return memory.Hooks{Name: "validation", Validate: Check} }

// kinds are what is checked of each kind.
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
	{Group: "apps", Resource: "controllerrevisions"}:                                 {of("data", anyData), given("revision", notNegative)},
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
	{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}:                   role,
	{Group: "rbac.authorization.k8s.io", Resource: "rolebindings"}:                   binding,
	{Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"}:            clusters,
	{Group: "node.k8s.io", Resource: "runtimeclasses"}:                               runtimes,
	{Group: eventsGroup, Resource: "events"}:                                         {of("", event)},
	{Resource: "namespaces"}:                                                         nil,
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

// Check refuses the object of a write. It is a memory.Hooks.Validate. The error is Invalid (422),
// with a cause for each fault.
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
	if v.Old == nil || !same(v.Old.Object, obj, "metadata") {
		metadata(f, v)
	}
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

func anyData(f fieldOf) {
	if f.value == nil {
		f.add(field.Required(f.path(), "data is mandatory"))
	}
}
