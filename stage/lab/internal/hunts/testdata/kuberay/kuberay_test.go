// Package kuberay_test hunts KubeRay, github.com/ray-project/kuberay/ray-operator, at a version that has
// a known bug.
package kuberay_test

import (
	"reflect"
	"testing"
	"time"
	"unsafe"

	"github.com/go-logr/logr"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/stagecraft-go/stagecraft/stage/lab/fakes/ctrlruntime"
	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

var (
	cronJobs = schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayCronJob"}
	jobs     = schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayJob"}
)

// cronJob has a tick two hours after the start of the lab, which is at 15:04:05, and the next a day later.
const cronJob = `
apiVersion: ray.io/v1
kind: RayCronJob
metadata: {name: a}
spec:
  schedule: "0 17 * * *"
  jobTemplate:
    entrypoint: python a.py
    rayClusterSpec:
      rayVersion: "2.50.0"
      headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: head, image: ray}]}}}
`

// virtual is the clock of a process.
type virtual struct {
	clock.RealClock
	now func() time.Time
}

func (v virtual) Now() time.Time { return v.now() }

// scenario has a RayCronJob wait for its tick. The operator's random names begin anew in each run.
func scenario(r *hunt.Run) {
	r.Process("operator", func(p *hunt.Process) []reconcile.Controller {
		return ctrlruntime.Setup(p, ctrlruntime.Options{Scheme: scheme()}, func(m manager.Manager) error {
			c := ray.NewRayCronJobReconciler(m)
			field := reflect.ValueOf(c).Elem().FieldByName("clock") // not exported
			*(*clock.Clock)(unsafe.Pointer(field.UnsafeAddr())) = virtual{now: p.Now}
			return c.SetupWithManager(m, 1)
		})
	})
	rand.Seed(1)
	r.Apply(cronJob)
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(rayv1.AddToScheme(s))
	return s
}

// TestIssue4849: the status of a tick is lost, or not seen, after its RayJob was created, and the next
// reconcile creates another. https://github.com/ray-project/kuberay/issues/4849
func TestIssue4849(t *testing.T) {
	log.SetLogger(logr.Discard())
	o := hunt.Options{
		Runs: 200, Workers: 1, Patience: 3 * time.Hour, Precious: []schema.GroupVersionKind{jobs},
		Lab: labtest.Options{Nodes: -1, Kinds: []memory.Kind{{GroupVersionKind: cronJobs, Status: true}, {GroupVersionKind: jobs, Status: true}}},
	}
	report, err := hunt.Search(o, scenario)
	require.NoError(t, err)
	t.Log(report)
	for _, f := range report.Failures {
		t.Logf("run %d\n%s", f.Run, f)
	}
	if fixed {
		require.Empty(t, report.Failures)
		return
	}
	require.NotEmpty(t, report.Failures)
	require.Positive(t, report.Failures[0].Run)
}
