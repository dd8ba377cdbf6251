package policies

import (
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	scalefake "k8s.io/client-go/scale/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/controller/disruption"

	ours "github.com/stagecraft-go/stagecraft/stage/lab/controllers/disruption"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// budgets are Pods of all controllers, and of no controller, that become ready, are evicted and go.
func budgets() *family {
	return &family{
		name: "budgets", kinds: []schema.GroupVersionKind{podKind, budgetKind}, length: 5 * time.Minute, setup: createOwners(),
		theirs: func(w world, cs kubernetes.Interface, f informers.SharedInformerFactory) ([]func(), error) {
			mapper := meta.NewDefaultRESTMapper(nil)
			for _, kind := range []schema.GroupVersionKind{jobKind, replicaSetKind, statefulKind, rcKind} {
				mapper.Add(kind, meta.RESTScopeNamespace)
			}
			scales := &scalefake.FakeScaleClient{}
			scales.AddReactor("get", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewNotFound(a.GetResource().GroupResource(), a.(clienttesting.GetAction).GetName())
			})
			served := &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{Resources: []*metav1.APIResourceList{
				{GroupVersion: "batch/v1", APIResources: []metav1.APIResource{{Name: "jobs", Kind: "Job"}}},
				{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{scaleOf("replicasets"), scaleOf("statefulsets")}},
				{GroupVersion: "v1", APIResources: []metav1.APIResource{scaleOf("replicationcontrollers")}},
			}}}
			core, apps := f.Core().V1(), f.Apps().V1()
			c := disruption.NewDisruptionController(w.ctx, core.Pods(), f.Policy().V1().PodDisruptionBudgets(), core.ReplicationControllers(), apps.ReplicaSets(),
				apps.Deployments(), apps.StatefulSets(), cs, mapper, scales, served)
			return []func(){func() { c.Run(w.ctx) }}, nil
		},
		ours:   func() []reconcile.Controller { return []reconcile.Controller{ours.Budgets(), ours.StalePods()} },
		random: randomBudgets,
	}
}

// owners are the owners of Pods, by name.
var owners = map[string]schema.GroupVersionKind{"rs": replicaSetKind, "rs-d": replicaSetKind, "sts": statefulKind, "rc": rcKind, "job": jobKind}

func scaleOf(resource string) metav1.APIResource {
	return metav1.APIResource{Name: resource + "/scale", Group: "autoscaling", Version: "v1", Kind: "Scale"}
}

func createOwners() (steps []step) {
	const body = "metadata: {ownerReferences: [%s]}\nspec: {replicas: 3, selector: {matchLabels: {app: %s}}, " +
		"template: {metadata: {labels: {app: %[2]s}}, spec: {containers: [{name: c, image: i}]}}}"
	for _, o := range []struct {
		kind        schema.GroupVersionKind
		name, above string
	}{
		{deploymentKind, "d", ""}, {replicaSetKind, "rs", ""},
		{replicaSetKind, "rs-d", "{apiVersion: apps/v1, kind: Deployment, name: d, controller: true}"}, {statefulKind, "sts", ""},
	} {
		steps = append(steps, step{do: "create", kind: o.kind, name: o.name, body: fmt.Sprintf(body, o.above, o.name)})
	}
	return append(steps, step{do: "create", kind: jobKind, name: "job", body: "spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}"},
		step{do: "create", kind: rcKind, name: "rc",
			body: "spec: {replicas: 2, selector: {app: rc}, template: {metadata: {labels: {app: rc}}, spec: {containers: [{name: c, image: i}]}}}"})
}

func randomBudgets(r *rand.Rand) step {
	pod, app := fmt.Sprint("p", r.IntN(6)), pick(r, "a", "b")
	switch r.IntN(20) {
	case 0, 1, 2, 3, 4:
		return step{do: "create", kind: podKind, name: pod,
			body: fmt.Sprintf("metadata: {labels: {app: %s}%s}\nspec: {nodeName: n1, containers: [{name: c, image: i}]}", app, randomOwner(r))}
	case 5, 6, 7, 8:
		return step{do: "status", kind: podKind, name: pod,
			body: fmt.Sprintf(`status: {phase: Running, conditions: [{type: Ready, status: "%s"}]}`, pick(r, "True", "True", "False"))}
	case 9:
		return step{do: "delete", kind: podKind, name: pod}
	case 10:
		return step{do: "remove", kind: podKind, name: pod}
	case 11, 12:
		return step{do: "evict", kind: podKind, name: pod}
	case 13:
		return step{do: "patch", kind: podKind, name: pod, body: fmt.Sprintf("metadata: {labels: {app: %s}}", app)}
	case 14:
		return randomTarget(r, pod)
	case 15:
		return step{do: "status", kind: budgetKind, name: app, body: fmt.Sprintf("status: {disruptedPods: {%s: \"2000-01-01T00:00:%02dZ\"}}", pod, r.IntN(60))}
	case 16:
		return step{do: "delete", kind: budgetKind, name: app}
	case 17:
		name := pick(r, "rs", "sts", "rc")
		return step{do: pick(r, "patch", "patch", "delete"), kind: owners[name], name: name, body: fmt.Sprintf("spec: {replicas: %d}", r.IntN(5))}
	}
	return randomBudget(r, app)
}

// randomOwner returns no owner, an existing one, or a missing one.
func randomOwner(r *rand.Rand) string {
	name := pick(r, "", "rs", "rs-d", "rs-d", "sts", "rc", "job", "gone")
	kind, ok := owners[name]
	switch {
	case name == "":
		return ""
	case !ok:
		kind = replicaSetKind
	}
	return fmt.Sprintf(", ownerReferences: [{apiVersion: %s, kind: %s, name: %s, controller: true}]", kind.GroupVersion(), kind.Kind, name)
}

func randomTarget(r *rand.Rand, pod string) step {
	const body = `status: {conditions: [{type: DisruptionTarget, status: "True", reason: %s, lastTransitionTime: "2000-01-01T00:00:%02dZ"}]}`
	return step{do: "status", kind: podKind, name: pod, body: fmt.Sprintf(body,
		pick(r, "PreemptionByScheduler", "EvictionByEvictionAPI", "TerminationByKubelet"), r.IntN(60))}
}

// randomBudget is new or changes. Budgets never select the same Pods: which of several is updated is
// left to chance.
func randomBudget(r *rand.Rand, app string) step {
	wants := fmt.Sprintf("%s: %s", pick(r, "minAvailable", "maxUnavailable"), pick(r, "0", "1", "2", "30%", "50%", "100%"))
	more := pick(r, "", ", unhealthyPodEvictionPolicy: AlwaysAllow", ", unhealthyPodEvictionPolicy: IfHealthyBudget")
	if r.IntN(4) == 0 {
		return step{do: "patch", kind: budgetKind, name: app, body: fmt.Sprintf("spec: {minAvailable: null, maxUnavailable: null, %s%s}", wants, more)}
	}
	selector := pick(r, "{matchLabels: {app: "+app+"}}", "{matchLabels: {app: "+app+"}}", "{matchExpressions: [{key: app, operator: In, values: ["+app+", x]}]}")
	return step{do: "create", kind: budgetKind, name: app, body: fmt.Sprintf("spec: {%s%s, selector: %s}", wants, more, selector)}
}
