package hunt_test

import (
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/batch"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/kubelet"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/workloads"
	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

var workloadRuns = flag.Int("workload-runs", effort.Of(60), "runs of each workload controller")

const podTemplate = `{metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: "a:1"}]}}`

// TestOurWorkloadControllers hunts the controllers of this project, which are promised to see their
// own writes at once (package reconcile).
func TestOurWorkloadControllers(t *testing.T) {
	apps := func(kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}
	}
	for _, c := range []struct {
		name, object, patch string
		kind                schema.GroupVersionKind
		start               func() []reconcile.Controller
	}{
		{"Deployment", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: default}, spec: {replicas: 2,
  selector: {matchLabels: {app: a}}, template: ` + podTemplate + `}}`, `{"spec":{"replicas":1}}`, apps("Deployment"),
			func() []reconcile.Controller {
				return []reconcile.Controller{workloads.Deployments(), workloads.ReplicaSets()}
			}},
		{"StatefulSet", `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, namespace: default}, spec: {replicas: 2, serviceName: a,
  selector: {matchLabels: {app: a}}, template: ` + podTemplate + `}}`, `{"spec":{"replicas":1}}`, apps("StatefulSet"),
			func() []reconcile.Controller { return []reconcile.Controller{workloads.StatefulSets()} }},
		{"DaemonSet", `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a, namespace: default}, spec: {
  selector: {matchLabels: {app: a}}, template: ` + podTemplate + `}}`, `{"spec":{"minReadySeconds":5}}`, apps("DaemonSet"),
			func() []reconcile.Controller { return []reconcile.Controller{workloads.DaemonSets()} }},
		{"Job", `{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: default}, spec: {completions: 2,
  template: {spec: {restartPolicy: Never, containers: [{name: a, image: "a:1"}]}}}}`, `{"metadata":{"labels":{"b":"c"}}}`,
			schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"},
			func() []reconcile.Controller { return []reconcile.Controller{batch.Jobs(), batch.OrphanedPods()} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := withoutControllers(c.start())
			switch c.name {
			case "StatefulSet":
				// A set takes a revision for its own that has the same data and is that of a set which was
				// deleted before (CreateControllerRevision in k8s.io/kubernetes/pkg/controller/history), and
				// does not see it go: a restart makes it again.
				o.Known = []string{"a restart changes nothing (ControllerRevision)"}
			case "Job":
				// How many Pods have failed depends on which were on the Node that stopped: in the twin it is
				// that of another Pod if the Job was made again meanwhile.
				o.Ignore = append(o.Ignore, "failed")
			}
			report, err := hunt.Search(o, func(r *hunt.Run) {
				r.Process("operator", func(*hunt.Process) []reconcile.Controller { return c.start() })
				r.Apply(c.object)
				r.At(10*time.Minute, "change", func(u *hunt.User) error { return u.Patch(c.kind, "default/a", c.patch) })
			})
			require.NoError(t, err)
			t.Log(report)
			for _, f := range report.Failures {
				t.Error(f)
			}
		})
	}
}

// TestACollisionOfHashesIsNoFinding: a Deployment that is made again while the ReplicaSet of the one
// before it goes counts a collision, and takes another hash for the same template. In the twin, the
// users wait, and it does not come.
func TestACollisionOfHashesIsNoFinding(t *testing.T) {
	b := benchmarks()[1]
	plan, err := hunt.ParsePlan("collision", `hunt v1
seed 0
fault recreate operator store default/a create ConfigMap #1
fault crash-before operator store default/a create ConfigMap #1
`)
	require.NoError(t, err)
	collided := false
	out, err := hunt.Play(b.options, func(r *hunt.Run) {
		b.start(r)
		r.Eventually("collided", func(v *hunt.View) error {
			_, has, _ := unstructured.NestedInt64(v.Get(deployments, "default/a").Object, "status", "collisionCount")
			collided = collided || has
			return nil
		})
	}, plan)
	require.NoError(t, err)
	require.True(t, collided, "one of the two has a collision")
	require.Empty(t, out.Findings)
}

// withoutControllers is a lab in which some controllers do not run: a process has them.
func withoutControllers(those []reconcile.Controller) hunt.Options {
	o := hunt.Options{Runs: *workloadRuns, OwnWrites: true, Lab: labtest.Options{OnlyControllers: true}}
	o.Controllers = func() []reconcile.Controller {
		rest := slices.DeleteFunc(labtest.Controllers(), func(c reconcile.Controller) bool {
			return slices.ContainsFunc(those, func(o reconcile.Controller) bool { return o.Name == c.Name })
		})
		return append(rest, kubelet.Pods(kubelet.Options{}, nil))
	}
	return o
}
