package quota

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// counted are the kinds whose objects the controller counts.
var counted = []struct {
	resource schema.GroupResource
	kind     schema.GroupVersionKind
}{
	{pods, kinds.Pod},
	{services, kinds.Service},
	{claims, kinds.PersistentVolumeClaim},
	{deviceClaims, kinds.ResourceClaim},
	{schema.GroupResource{Resource: "configmaps"}, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}},
	{schema.GroupResource{Resource: "secrets"}, schema.GroupVersionKind{Version: "v1", Kind: "Secret"}},
	{schema.GroupResource{Resource: "replicationcontrollers"}, kinds.ReplicationController},
	{schema.GroupResource{Resource: "resourcequotas"}, kinds.ResourceQuota},
	{schema.GroupResource{Group: "apps", Resource: "deployments"}, kinds.Deployment},
	{schema.GroupResource{Group: "apps", Resource: "replicasets"}, kinds.ReplicaSet},
	{schema.GroupResource{Group: "apps", Resource: "statefulsets"}, kinds.StatefulSet},
	{schema.GroupResource{Group: "apps", Resource: "daemonsets"}, kinds.DaemonSet},
	{schema.GroupResource{Group: "batch", Resource: "jobs"}, kinds.Job},
	{schema.GroupResource{Group: "batch", Resource: "cronjobs"}, kinds.CronJob},
}

func isCounted(of schema.GroupResource) bool {
	for _, k := range counted {
		if k.resource == of {
			return true
		}
	}
	return false
}

// ResourceQuotas returns the controller that writes the status of ResourceQuotas. It counts the use
// when a quota is new or changes, and when objects are deleted or end. [Admit] adds new objects.
// [Complete] and [Refund] count the objects of other kinds, such as custom ones.
func ResourceQuotas() reconcile.Controller {
	c := reconcile.Controller{
		Name: "resourcequota", For: kinds.ResourceQuota,
		When:      func(ch reconcile.Change) bool { return ch.New != nil && (ch.Old == nil || !sameSpec(ch)) },
		Reconcile: control.OnExisting(kinds.ResourceQuota, count),
	}
	for _, k := range counted {
		c.Watches = append(c.Watches, reconcile.Watch{Kind: k.kind, Map: func(cache *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
			return quotasOf(cache, k.resource, ch)
		}})
	}
	return c
}

func sameSpec(ch reconcile.Change) bool {
	return object.DeepEqual(fields.Value(ch.Old.Object, "spec"), fields.Value(ch.New.Object, "spec"))
}

// quotasOf returns the quotas of a namespace if an object uses less than before.
func quotasOf(c *reconcile.Cache, of schema.GroupResource, ch reconcile.Change) (names []types.NamespacedName) {
	found := c.List(kinds.ResourceQuota, ch.Object().GetNamespace())
	if len(found) == 0 || ch.Old == nil || ch.New != nil && !usesLess(of, ch) {
		return nil
	}
	for _, q := range found {
		names = append(names, control.NameOf(q))
	}
	return names
}

func usesLess(of schema.GroupResource, ch reconcile.Change) bool {
	if of != pods && of != services && of != claims && of != deviceClaims {
		return false
	}
	switch {
	case of == pods && hasDeadline(ch.Old.Object) != hasDeadline(ch.New.Object),
		of == claims && !sameNames(attributesClasses(ch.Old.Object), attributesClasses(ch.New.Object)):
		return true // it is in other scopes
	}
	return len(usage(of, ch.Old.Object).minus(usage(of, ch.New.Object)).withoutZeros()) > 0
}

// sameNames reports whether two lists have the same names.
func sameNames(a, b []string) bool {
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}

func count(c control.Call, quota *unstructured.Unstructured) (reconcile.Result, error) {
	hard := read(fields.Map(quota.Object, "spec", "hard"))
	used, before := Quantities{}, read(fields.Map(quota.Object, "status", "used"))
	for _, name := range hard.names() {
		used[name] = pieces(0)
	}
	for _, name := range uncounted(hard.names()) {
		delete(used, name) // Complete counts it
		maps.Copy(used, before.of([]string{name}))
	}
	for _, k := range counted {
		names := matching(k.resource, hard.names())
		if len(names) == 0 {
			continue
		}
		for _, obj := range c.Cache.List(k.kind, quota.GetNamespace()) {
			if inScope(quota.Object, k.resource, obj.Object) {
				used = used.plus(usage(k.resource, obj.Object).of(names))
			}
		}
	}
	status := control.Status{"hard": hard.write(), "used": used.write()}
	return reconcile.Result{}, c.WriteStatus(quota, status)
}
