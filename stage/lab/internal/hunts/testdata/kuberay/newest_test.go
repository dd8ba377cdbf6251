//go:build newest

package kuberay_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/expectations"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/stagecraft-go/stagecraft/stage/lab/fakes/ctrlruntime"
	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/hunts/newest"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// newestOptions: expectations have a clock in the copy that is hunted, which one run at a time can set. The
// operator looks again after 5m at the latest. The address of a Service depends on its uid.
func newestOptions() hunt.Options {
	return hunt.Options{
		Workers: 1, Patience: 11 * time.Minute, Ignore: []string{"serviceIP", "observedGeneration"}, // TestNewestObservedGeneration
		Lab: labtest.Options{Kinds: []memory.Kind{{GroupVersionKind: clusters, Status: true}}},
	}
}

func hunting(t *testing.T, manifest string, steps func(*hunt.Run)) {
	newest.Replay(t, newestOptions(), newestScenario(manifest, steps))
	newest.Hunt(t, newestOptions(), newestScenario(manifest, steps))
}

func newestScenario(manifest string, steps func(*hunt.Run)) func(*hunt.Run) {
	log.SetLogger(logr.Discard())
	s := scheme()
	return func(r *hunt.Run) {
		r.Process("operator", func(p *hunt.Process) []reconcile.Controller {
			expectations.Now = r.Cluster().Now
			return ctrlruntime.Setup(p, ctrlruntime.Options{Scheme: s}, func(m manager.Manager) error {
				return ray.NewReconciler(context.Background(), m, ray.RayClusterReconcilerOptions{}).SetupWithManager(m, 1)
			})
		})
		r.Apply(manifest)
		steps(r)
	}
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
	hunting(t, cluster, func(r *hunt.Run) {
		r.At(time.Hour, "scale up", workers(3))
		r.At(2*time.Hour, "scale down", workers(1))
	})
}

// TestNewestSuspend: all Pods go, and come again.
func TestNewestSuspend(t *testing.T) {
	hunting(t, cluster, func(r *hunt.Run) {
		r.At(time.Hour, "suspend", suspend("true"))
		r.At(2*time.Hour, "resume", suspend("false"))
	})
}

// TestNewestRedis: what the head keeps in Redis is removed by a Job before the cluster goes.
func TestNewestRedis(t *testing.T) {
	hunting(t, strings.Replace(cluster, "  rayVersion", "  gcsFaultToleranceOptions: {redisAddress: \"redis:6379\"}\n  rayVersion", 1), func(r *hunt.Run) {
		r.At(time.Hour, "scale up", workers(2))
	})
}

// TestNewestUpgrade: all Pods are made anew for another version.
func TestNewestUpgrade(t *testing.T) {
	hunting(t, strings.Replace(cluster, "  rayVersion", "  upgradeStrategy: {type: Recreate}\n  rayVersion", 1), func(r *hunt.Run) {
		r.At(time.Hour, "another image", func(u *hunt.User) error {
			return u.Patch(clusters, "default/a", `{"spec":{"headGroupSpec":{"template":{"spec":{"containers":[{"name":"head","image":"two"}]}}}}}`)
		})
	})
}

// TestNewestObservedGeneration: a change of the spec that changes nothing else in the status never shows in
// observedGeneration, since InconsistentRayClusterStatus does not compare it. Found by TestNewestScale.
func TestNewestObservedGeneration(t *testing.T) {
	found := newest.Replay(t, newestOptions(), newestScenario(cluster, func(r *hunt.Run) {
		r.At(10*time.Minute, "another version", func(u *hunt.User) error { return u.Patch(clusters, "default/a", `{"spec":{"rayVersion":"2.51.0"}}`) })
		r.Eventually("observedGeneration is current", func(v *hunt.View) error {
			a := v.Get(clusters, "default/a")
			if observed, _, _ := unstructured.NestedInt64(a.Object, "status", "observedGeneration"); observed != a.GetGeneration() {
				return fmt.Errorf("it is %d of %d", observed, a.GetGeneration())
			}
			return nil
		})
	}))
	require.Len(t, found, 1)
	require.Equal(t, "eventually", found[0].Check)
}

// TestNewestTwoHeads: a head Pod is made twice, and both stay until somebody deletes one, if its watch is
// behind, and the answer to its creation is lost, so that nothing is expected (createHeadPod), or it is
// behind for longer than 30 s (ExpectationsTimeout). Found by TestNewestScale.
func TestNewestTwoHeads(t *testing.T) {
	found := newest.Replay(t, newestOptions(), newestScenario(cluster, func(*hunt.Run) {}))
	twice := slices.DeleteFunc(found, func(f hunt.Finding) bool { return f.Check != "nothing is made twice" })
	require.Len(t, twice, 2)
}
