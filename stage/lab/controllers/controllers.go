package controllers

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/autoscaling"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/batch"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/certificates"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/disruption"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/namespaces"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/nodes"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/quota"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/roles"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/scheduling"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/services"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/volumes"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/workloads"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// Options of [All]. The zero value is the default.
type Options struct {
	// Scheduling are the options of the scheduler.
	Scheduling scheduling.Options
	// Services are the options of the controller that gives Services their addresses.
	Services services.Options
	// Nodes are the options of the controllers for failing Nodes.
	Nodes nodes.Options
	// Autoscaling are the options of the controller of HorizontalPodAutoscalers.
	Autoscaling autoscaling.Options
}

// All returns all controllers, for one loop.
func All(o Options) []reconcile.Controller {
	return []reconcile.Controller{
		workloads.Deployments(),
		workloads.ReplicaSets(),
		workloads.ReplicationControllers(),
		workloads.StatefulSets(),
		workloads.DaemonSets(),
		batch.Jobs(),
		batch.FinishedJobs(),
		batch.OrphanedPods(),
		batch.CronJobs(),
		disruption.Budgets(),
		disruption.StalePods(),
		autoscaling.HorizontalPodAutoscalers(o.Autoscaling),
		volumes.PersistentVolumeClaims(),
		volumes.PersistentVolumes(),
		volumes.EphemeralVolumes(),
		volumes.ClaimProtection(),
		volumes.VolumeProtection(),
		quota.ResourceQuotas(),
		services.Services(o.Services),
		services.ServiceCIDRs(),
		services.APIServices(),
		services.EndpointSlices(),
		services.EndpointSliceMirroring(),
		scheduling.SchedulingGates(),
		scheduling.Scheduler(o.Scheduling),
		nodes.ConditionTaints(),
		nodes.Lifecycle(o.Nodes),
		nodes.TaintEviction(),
		nodes.PodGC(o.Nodes),
		nodes.Kubelets(),
		namespaces.ServiceAccounts(),
		namespaces.RootCertificates(),
		roles.Aggregation(),
		certificates.Cleaner(),
	}
}

// Bound reports whether an object is anything but a Pod that has no Node yet, or a Node whose
// kubelet is stopped. It is for the filter of simulation.Options: a kubelet runs no other Pods, and
// a stopped one says nothing of its Node. See [nodes.KubeletRuns] for the Pods of such Nodes.
func Bound(obj *unstructured.Unstructured) bool {
	if obj.GetKind() == "Node" && obj.GroupVersionKind().Group == "" {
		return !nodes.IsStopped(obj)
	}
	return obj.GetKind() != "Pod" || obj.GroupVersionKind().Group != "" || pods.Of(obj).NodeName() != ""
}
