// Package jobset_test hunts JobSet, sigs.k8s.io/jobset, at the newest version that was to be had.
package jobset_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/jobset/pkg/controllers"

	"github.com/stagecraft-go/stagecraft/stage/lab/fakes/ctrlruntime"
	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/hunts/newest"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

var (
	sets = schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"}
	pods = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
)

// set has a driver and two workers that start in an order or after one another, and may start anew twice. All that
// the definition and the webhook default is written out.
func set(policy string) string {
	return strings.NewReplacer("ORDER", policy).Replace(`
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: a, namespace: default}
spec:
  suspend: false
  network: {enableDNSHostnames: true, publishNotReadyAddresses: true}
  successPolicy: {operator: All, targetReplicatedJobs: [driver]}
  startupPolicy: {startupPolicyOrder: ORDER}
  failurePolicy: {maxRestarts: 2, restartStrategy: Recreate}
  replicatedJobs:
  - {name: driver, groupName: default, replicas: 1, template: {spec: {parallelism: 1, completions: 1, completionMode: Indexed, backoffLimit: 0,
      template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, command: [sleep, "DRIVER"]}]}}}}}
  - {name: worker, groupName: default, replicas: 2, template: {spec: {parallelism: 1, completions: 1, completionMode: Indexed, backoffLimit: 0,
      template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, command: [sleep, "1000d"]}]}}}}}
`)
}

func scenario(manifest string, steps func(*hunt.Run)) func(*hunt.Run) {
	log.SetLogger(logr.Discard())
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(jobset.AddToScheme(scheme))
	return func(r *hunt.Run) {
		r.Process("operator", func(p *hunt.Process) []reconcile.Controller {
			return ctrlruntime.Setup(p, ctrlruntime.Options{Scheme: scheme}, setup)
		})
		r.Apply(manifest)
		steps(r)
	}
}

// setup is setupControllers of the operator's main, without webhooks.
func setup(m manager.Manager) error {
	ctx := context.Background()
	return errors.Join(
		controllers.SetupJobSetIndexes(ctx, m.GetFieldIndexer()),
		controllers.SetupPodIndexes(ctx, m.GetFieldIndexer()),
		controllers.NewJobSetReconciler(m.GetClient(), m.GetScheme(), m.GetEventRecorder("jobset")).SetupWithManager(m),
		controllers.NewPodReconciler(m.GetClient(), m.GetScheme(), m.GetEventRecorder("pod")).SetupWithManager(m),
	)
}

// fail has a user delete a Pod of a worker, whose Job fails, so that all Jobs are made anew.
func fail(u *hunt.User) error {
	list, err := u.Cluster().List(context.Background(), pods, "default", metav1.ListOptions{LabelSelector: jobset.ReplicatedJobNameKey + "=worker"})
	if err != nil {
		return err
	}
	alive := slices.DeleteFunc(list.Items, func(p unstructured.Unstructured) bool { return p.GetDeletionTimestamp() != nil })
	if len(alive) == 0 {
		return nil
	}
	return u.Delete(pods, "default/"+alive[0].GetName())
}

func suspend(value string) func(*hunt.User) error {
	return func(u *hunt.User) error { return u.Patch(sets, "default/a", `{"spec":{"suspend":`+value+`}}`) }
}

// options: a Job that somebody deletes just when it fails has not failed, so the number of restarts may differ.
// Conditions that were true for a moment stay as false, if the operator has seen that moment.
func options() hunt.Options {
	return hunt.Options{
		Ignore: []string{"jobset.sigs.k8s.io/restart-attempt", "restarts", "restartsCountTowardsMax", "conditions"},
		Lab:    labtest.Options{Kinds: []memory.Kind{{GroupVersionKind: sets, Status: true}}},
	}
}

// TestNewestRestarts: a Job fails, the set starts anew; then it is suspended and goes on.
func TestNewestRestarts(t *testing.T) {
	hunting(t, scenario(strings.ReplaceAll(set("AnyOrder"), "DRIVER", "1000d"), func(r *hunt.Run) {
		r.At(time.Hour, "fail", fail)
		r.At(2*time.Hour, "suspend", suspend("true"))
		r.At(3*time.Hour, "resume", suspend("false"))
	}))
}

// TestNewestOrder: the driver starts before the workers, and when it ends, the set does.
func TestNewestOrder(t *testing.T) {
	hunting(t, scenario(strings.ReplaceAll(set("InOrder"), "DRIVER", "3m"), func(r *hunt.Run) {
		r.At(time.Hour, "nothing", func(*hunt.User) error { return nil })
	}))
}

// TestNewestVolumes: workers start when the driver is ready, and the set has a claim; a Job fails.
func TestNewestVolumes(t *testing.T) {
	manifest := strings.NewReplacer("DRIVER", "1000d", "  startupPolicy: {startupPolicyOrder: AnyOrder}\n", "", "{name: worker, groupName: default,", "{name: worker, groupName: default, dependsOn: [{name: driver, status: Ready}],",
		"  replicatedJobs:", `  volumeClaimPolicies:
  - templates: [{metadata: {name: v}, spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}}]
    retentionPolicy: {whenDeleted: Delete}
  replicatedJobs:`).Replace(set("AnyOrder"))
	hunting(t, scenario(manifest, func(r *hunt.Run) { r.At(time.Hour, "fail", fail) }))
}

func hunting(t *testing.T, scenario func(*hunt.Run)) {
	newest.Replay(t, options(), scenario)
	newest.Hunt(t, options(), scenario)
}
