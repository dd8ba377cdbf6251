package labtest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// halfFail has every second Pod fail a second after it is bound.
const halfFail = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-fail}
spec:
  resourceRef: {kind: Pod}
  selector:
    matchExpressions:
    - {key: .spec.nodeName, operator: Exists}
    - {key: .status.phase, operator: In, values: [Pending]}
    - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
  weight: 50
  delay: {durationMilliseconds: 1000}
  next: {statusTemplate: 'phase: Failed'}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-ready}
spec:
  resourceRef: {kind: Pod}
  selector:
    matchExpressions:
    - {key: .spec.nodeName, operator: Exists}
    - {key: .status.phase, operator: In, values: [Pending]}
    - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
  weight: 50
  delay: {durationMilliseconds: 1000}
  next: {statusTemplate: 'phase: Running'}
`

const db = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: postgres}]}
`

// TestStatefulSetWhosePodsFailRecovers: a Pod that is made again under its name gets a new random
// decision, so that db-0 runs after a while with any seed.
func TestStatefulSetWhosePodsFailRecovers(t *testing.T) {
	failures := 0
	for seed := range uint64(14) {
		lab := labtest.New(t, labtest.Options{Seed: seed, OnlyStages: true, Stages: []stage.Source{presets.NodeFast(), stage.Parse("half.yaml", []byte(halfFail))}})
		created := 0
		require.NoError(t, lab.Simulation().On(pods, func(_ context.Context, e watch.Event) error {
			created += map[watch.EventType]int{watch.Added: 1}[e.Type]
			return nil
		}))
		lab.Apply(db)
		lab.Advance(time.Hour)
		require.Equal(t, "Running", field(lab.Get("v1", "Pod", "db-0"), "status", "phase"), "seed %d", seed)
		require.Less(t, created, 20, "seed %d", seed)
		failures += created - 1
	}
	t.Logf("db-0 runs for 14 of 14 seeds, after %d failures", failures)
	require.Positive(t, failures)
}

var databases = schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Database"}

// tenthFails has one Database in ten fail.
const tenthFails = `
{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: fail}, spec: {resourceRef: {apiGroup: demo.example.com/v1, kind: Database}, weight: 10,
  selector: {matchExpressions: [{key: .status.phase, operator: DoesNotExist}]}, delay: {durationMilliseconds: 1000}, next: {statusTemplate: 'phase: Failed'}}}
---
{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: ready}, spec: {resourceRef: {apiGroup: demo.example.com/v1, kind: Database}, weight: 90,
  selector: {matchExpressions: [{key: .status.phase, operator: DoesNotExist}]}, delay: {durationMilliseconds: 1000}, next: {statusTemplate: 'phase: Ready'}}}
`

// operator makes the Database that a ConfigMap is named after, and makes it again if it failed.
func operator(replaced *int) reconcile.Controller {
	return reconcile.Controller{
		Name: "operator", For: configMaps,
		Watches: []reconcile.Watch{{Kind: databases}},
		Reconcile: func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			owner, database := r.Cache.Get(configMaps, r.Name), r.Cache.Get(databases, r.Name)
			if owner == nil {
				return reconcile.Result{}, nil
			}
			if database != nil && field(database, "status", "phase") != "Failed" {
				return reconcile.Result{}, nil
			}
			if database != nil {
				*replaced++
				if err := r.Client.Delete(ctx, databases, r.Name, metav1.DeleteOptions{}); err != nil {
					return reconcile.Result{}, err
				}
			}
			_, err := r.Client.Create(ctx, databaseOf(owner, r.Name), metav1.CreateOptions{})
			return reconcile.Result{}, err
		},
	}
}

func databaseOf(owner *unstructured.Unstructured, name types.NamespacedName) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(databases)
	obj.SetNamespace(name.Namespace)
	obj.SetName(name.Name)
	obj.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, configMaps)})
	return obj
}

// TestOperatorThatReplacesFailedObjectsRecovers plays an operator that replaces failed objects, for
// 50 objects and six seeds.
func TestOperatorThatReplacesFailedObjectsRecovers(t *testing.T) {
	total := 0
	for seed := range uint64(6) {
		replaced := 0
		lab := labtest.New(t, labtest.Options{
			Seed: seed, Stages: []stage.Source{stage.Parse("databases.yaml", []byte(tenthFails))},
			Kinds: []memory.Kind{{GroupVersionKind: databases, Status: true}}, Controllers: []reconcile.Controller{operator(&replaced)},
		})
		for i := range 50 {
			lab.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: db-%d}}", i))
		}
		lab.Advance(time.Hour)
		for i := range 50 {
			require.Equal(t, "Ready", field(lab.Get("demo.example.com/v1", "Database", fmt.Sprintf("db-%d", i)), "status", "phase"), "seed %d, db-%d", seed, i)
		}
		require.Less(t, replaced, 20, "seed %d", seed)
		total += replaced
	}
	t.Logf("300 of 300 databases are ready, %d were replaced", total)
	require.Positive(t, total)
}
