package policies

import (
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/controller/podgc"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/nodes"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

const (
	terminatedPods = 2
	gcPeriod       = 20 * time.Second
	quarantine     = 39 * time.Second // not a multiple of gcPeriod: which comes first is left to chance
)

// collection are Pods that end, and Nodes that go.
func collection() *family {
	return &family{
		name: "collection", kinds: []schema.GroupVersionKind{podKind, nodeKind}, length: 4 * time.Minute,
		setup: []step{{do: "create", kind: nodeKind, name: "first", body: "{}"}}, // our passes begin with it
		theirs: func(w world, cs kubernetes.Interface, f informers.SharedInformerFactory) ([]func(), error) {
			gc := podgc.NewPodGCInternal(w.ctx, cs, f.Core().V1().Pods(), f.Core().V1().Nodes(), terminatedPods, gcPeriod, quarantine)
			return []func(){func() { gc.Run(w.ctx) }}, nil
		},
		ours: func() []reconcile.Controller {
			return []reconcile.Controller{nodes.PodGC(nodes.Options{TerminatedPods: terminatedPods, GCPeriod: gcPeriod, Quarantine: quarantine})}
		},
		random: randomCollection,
	}
}

func randomCollection(r *rand.Rand) step {
	pod, node := fmt.Sprint("p", r.IntN(7)), fmt.Sprint("n", r.IntN(3))
	switch r.IntN(14) {
	case 0, 1, 2, 3:
		return step{do: "create", kind: podKind, name: pod, body: fmt.Sprintf("metadata: {finalizers: [%s]}\nspec: {%scontainers: [{name: c, image: i}]}",
			pick(r, "", "", "", "x.io/y"), pick(r, "", "nodeName: "+node+", ", "nodeName: "+node+", "))}
	case 4, 5:
		return step{do: "create", kind: nodeKind, name: node, body: randomNode(r)}
	case 6:
		return step{do: "delete", kind: nodeKind, name: node}
	case 7, 8, 9:
		return step{do: "status", kind: podKind, name: pod,
			body: fmt.Sprintf("status: {phase: %s%s}", pick(r, "Running", "Succeeded", "Failed", "Unknown"), pick(r, "", ", reason: Evicted", ", reason: Error"))}
	case 10:
		return step{do: "delete", kind: podKind, name: pod}
	case 11:
		return step{do: "patch", kind: nodeKind, name: node, body: fmt.Sprintf("spec: {taints: %s}", pick(r, "null", outOfService))}
	case 12:
		return step{do: "patch", kind: podKind, name: pod, body: "metadata: {finalizers: null}"}
	}
	return step{do: "status", kind: nodeKind, name: node,
		body: fmt.Sprintf(`status: {conditions: [{type: Ready, status: "%s"}]}`, pick(r, "True", "False", "Unknown"))}
}

const outOfService = "[{key: node.kubernetes.io/out-of-service, effect: NoExecute}]"

func randomNode(r *rand.Rand) string {
	return fmt.Sprintf("spec: {taints: %s}\nstatus: {conditions: [{type: Ready, status: %q}]}", pick(r, "[]", "[]", outOfService), pick(r, "True", "True", "False"))
}
