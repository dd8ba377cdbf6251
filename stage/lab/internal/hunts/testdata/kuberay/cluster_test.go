package kuberay_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/stagecraft-go/stagecraft/stage/lab/fakes/ctrlruntime"
	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

var clusters = schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayCluster"}

const cluster = `
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: a}
spec:
  rayVersion: "2.50.0"
  headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: head, image: ray}]}}}
  workerGroupSpecs:
  - {groupName: w, replicas: 1, minReplicas: 0, maxReplicas: 9, rayStartParams: {}, template: {spec: {containers: [{name: worker, image: ray}]}}}
`

// TestIssue715: the Pods of a group that were made are not seen yet, and are made again.
// https://github.com/ray-project/kuberay/issues/715
func TestIssue715(t *testing.T) {
	log.SetLogger(logr.Discard())
	o := hunt.Options{
		Runs: 150,
		// The expectations of a Pod that is gone before the operator has seen it end after 30 s of real
		// time, which does not pass here.
		Known: []string{"the same end (Pod)", "the same end (RayCluster)", "a restart changes nothing (Pod)"},
		Lab:   labtest.Options{Kinds: []memory.Kind{{GroupVersionKind: clusters, Status: true}}},
	}
	s := scheme()
	report, err := hunt.Search(o, func(r *hunt.Run) {
		r.Process("operator", func(p *hunt.Process) []reconcile.Controller {
			return ctrlruntime.Setup(p, ctrlruntime.Options{Scheme: s}, func(m manager.Manager) error {
				return ray.NewReconciler(context.Background(), m, ray.RayClusterReconcilerOptions{}).SetupWithManager(m, 1)
			})
		})
		r.Apply(cluster)
		r.At(20*time.Minute, "scale", func(u *hunt.User) error {
			return u.Patch(clusters, "default/a", `{"spec":{"workerGroupSpecs":[{"groupName":"w","replicas":2,"minReplicas":0,"maxReplicas":9,"rayStartParams":{},
				"template":{"spec":{"containers":[{"name":"worker","image":"ray"}]}}}]}}`)
		})
	})
	require.NoError(t, err)
	t.Log(report)
	for _, f := range report.Failures {
		t.Logf("run %d\n%s", f.Run, f)
	}
	if has715 {
		require.NotEmpty(t, report.Failures)
		return
	}
	require.Empty(t, report.Failures)
}
