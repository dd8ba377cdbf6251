//go:build newest

package kuberay_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/expectations"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/stagecraft-go/stagecraft/internal/dev/hunt/newest"
	"github.com/stagecraft-go/stagecraft/stage/hunt"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/stagetest"
	"github.com/stagecraft-go/stagecraft/stage/stagetest/fakes/ctrlruntime"
)

// newestOptions: expectations have a clock in the copy that is hunted, which one run at a time can set. The
// address of a Service depends on its uid.
func newestOptions() hunt.Options {
	return hunt.Options{
		Workers: 1, Ignore: []string{"serviceIP"},
		Lab: stagetest.LabOptions{Kinds: []memory.Kind{{GroupVersionKind: clusters, Status: true}}},
	}
}

func hunting(t *testing.T, steps func(*hunt.Run)) {
	log.SetLogger(logr.Discard())
	s := scheme()
	scenario := func(r *hunt.Run) {
		r.Process("operator", func(p *hunt.Process) []reconcile.Controller {
			expectations.Now = p.Now
			return ctrlruntime.Setup(p, ctrlruntime.Options{Scheme: s}, func(m manager.Manager) error {
				return ray.NewReconciler(context.Background(), m, ray.RayClusterReconcilerOptions{}).SetupWithManager(m, 1)
			})
		})
		r.Apply(cluster)
		steps(r)
	}
	newest.Replay(t, newestOptions(), scenario)
	newest.Hunt(t, newestOptions(), scenario)
}

func workers(replicas int) func(*hunt.User) error {
	return func(u *hunt.User) error {
		return u.Patch(clusters, "default/a", fmt.Sprintf(`{"spec":{"workerGroupSpecs":[{"groupName":"w","replicas":%d,"minReplicas":0,"maxReplicas":9,"rayStartParams":{},
			"template":{"spec":{"containers":[{"name":"worker","image":"ray"}]}}}]}}`, replicas))
	}
}

func suspend(value string) func(*hunt.User) error {
	return func(u *hunt.User) error { return u.Patch(clusters, "default/a", `{"spec":{"suspend":`+value+`}}`) }
}

// TestNewestScale: workers come and go.
func TestNewestScale(t *testing.T) {
	hunting(t, func(r *hunt.Run) {
		r.At(10*time.Minute, "scale up", workers(3))
		r.At(20*time.Minute, "scale down", workers(1))
	})
}

// TestNewestSuspend: all Pods go, and come again.
func TestNewestSuspend(t *testing.T) {
	hunting(t, func(r *hunt.Run) {
		r.At(10*time.Minute, "suspend", suspend("true"))
		r.At(20*time.Minute, "resume", suspend("false"))
	})
}
