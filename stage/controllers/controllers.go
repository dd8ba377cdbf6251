package controllers

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// Options of [All]. The zero value is the default.
type Options struct {
	// Scheduler is the name of the scheduler, see [Scheduler]. Default "default-scheduler".
	Scheduler string
	// ServiceIPs is the range of the addresses of Services. Default 10.96.0.0/12.
	ServiceIPs netip.Prefix
	// LoadBalancerIPs is the range of the addresses of Services for the outside. Default 198.18.0.0/15, which is no one's.
	LoadBalancerIPs netip.Prefix
}

// All returns all controllers of this package, for one loop.
func All(o Options) []reconcile.Controller {
	return []reconcile.Controller{
		Deployments(),
		ReplicaSets(),
		ReplicationControllers(),
		StatefulSets(),
		DaemonSets(),
		Jobs(),
		CronJobs(),
		VolumeClaims(),
		Volumes(),
		Services(o),
		EndpointSlices(),
		SchedulingGates(),
		Scheduler(o.Scheduler),
	}
}

// Bound reports whether an object is not a Pod that still has no node. It is for simulation.Options.Filter: a kubelet runs no other Pods.
func Bound(obj *unstructured.Unstructured) bool {
	return obj.GetKind() != "Pod" || obj.GroupVersionKind().Group != "" || pod{obj}.node() != ""
}
