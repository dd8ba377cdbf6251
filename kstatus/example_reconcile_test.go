package kstatus_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// gate is a controller that lets users in as soon as what they want to reach is ready. Its client
// is a Reader: the one of controller-runtime needs an adapter of two short methods.
type gate struct {
	client kstatus.Reader
	rules  *kstatus.Rules
	kind   schema.GroupVersionKind
	now    func() time.Time
}

// outcome has the role of reconcile.Result in controller-runtime.
type outcome struct{ RequeueAfter time.Duration }

// Reconcile has no state and starts nothing: the verdict says when to look again, if nothing
// changes before.
func (g gate) Reconcile(ctx context.Context, name types.NamespacedName) (outcome, error) {
	obj, err := g.client.Get(ctx, g.kind, name)
	if apierrors.IsNotFound(err) {
		return outcome{}, nil
	}
	if err != nil {
		return outcome{}, err
	}
	verdict, _, err := g.rules.Inspect(ctx, g.client, obj, g.now())
	switch {
	case verdict.Status == kstatus.Current:
		fmt.Println("open")
	case verdict.Status == kstatus.Failed:
		fmt.Println("closed, and somebody has to look:", verdict.Message())
	default:
		fmt.Println("closed:", verdict.Message())
	}
	// An error is of Pods that could not be looked up. The verdict holds without them; the queue
	// tries again.
	return outcome{RequeueAfter: verdict.RecheckAfter}, err
}

// A controller asks for a verdict in the light of the Pods, and when to look again. No event tells
// that a Pod has been without a node for too long: RequeueAfter does.
func ExampleRules_Inspect() {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	now := noon
	clock := func() time.Time { return now }
	ctx, cluster := context.Background(), memory.New(memory.Options{Now: clock})
	set := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}
	name := types.NamespacedName{Namespace: "shop", Name: "web"}
	web := gate{client: cluster, rules: kstatus.Standard(), kind: set, now: clock}

	reconcile := func() {
		o, err := web.Reconcile(ctx, name)
		fmt.Println(" ", now.Format(time.TimeOnly), o.RequeueAfter, err)
	}
	load := func(manifest string) {
		obj, err := cluster.Get(ctx, set, name)
		if err == nil {
			manifest = strings.ReplaceAll(manifest, "$UID", string(obj.GetUID()))
		}
		fmt.Print(errorLine(cluster.Load(ctx, []byte(manifest))))
	}
	load(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {namespace: shop, name: web}, spec: {replicas: 1, selector: {matchLabels: {app: web}}}}`)
	reconcile()
	load(`
apiVersion: v1
kind: Pod
metadata:
  namespace: shop
  name: web-x
  labels: {app: web}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: $UID, controller: true}]
status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]}`)
	reconcile()
	now = now.Add(15 * time.Second)
	reconcile()
	patch := `{"status": {"replicas": 1, "fullyLabeledReplicas": 1, "availableReplicas": 1, "readyReplicas": 1}}`
	_, err := cluster.Patch(ctx, set, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	fmt.Print(errorLine(err))
	reconcile()
	// Output:
	// closed: Labelled: 0/1
	//   12:00:00 0s <nil>
	// closed: Labelled: 0/1
	//   12:00:00 15s <nil>
	// closed, and somebody has to look: 1 pods have failed
	//   12:00:15 0s <nil>
	// open
	//   12:00:15 0s <nil>
}

func errorLine(err error) string {
	if err == nil {
		return ""
	}
	return err.Error() + "\n"
}
