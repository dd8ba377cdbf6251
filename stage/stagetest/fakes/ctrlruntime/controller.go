package ctrlruntime

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// requeue is the delay for a Result with Requeue and without a time. A manager waits 5ms at first,
// and longer each time.
const requeue = time.Second

// Controller makes a lab controller of a reconciler. The lab calls it, one request at a time and in
// virtual time, when objects of the kind change, and when objects of the kinds owned change that
// they control. The reconciler gets its client after the lab is created:
//
//	r := &WebsiteReconciler{}
//	operator := ctrlruntime.Controller(r, websites, deployments)
//	lab := stagetest.New(t, stagetest.LabOptions{Definitions: crds, Controllers: []reconcile.Controller{operator}})
//	r.Client = ctrlruntime.New(lab.Cluster(), ctrlruntime.Options{Scheme: scheme})
//
// Errors are retried with increasing delays, except terminal errors. RequeueAfter is exact; Requeue
// alone means after a second.
func Controller(r ctrl.Reconciler, kind schema.GroupVersionKind, owned ...schema.GroupVersionKind) reconcile.Controller {
	c := reconcile.Controller{Name: kind.Kind, For: kind}
	for _, k := range owned {
		c.Watches = append(c.Watches, reconcile.Watch{Kind: k})
	}
	c.Reconcile = func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		result, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: request.Name})
		switch {
		case errors.Is(err, ctrl.TerminalError(nil)):
			return reconcile.Result{}, nil
		case err != nil:
			return reconcile.Result{}, err
		case result.RequeueAfter == 0 && result.Requeue: //nolint:staticcheck // reconcilers still return it
			return reconcile.Result{After: requeue}, nil
		}
		return reconcile.Result{After: result.RequeueAfter}, nil
	}
	return c
}
