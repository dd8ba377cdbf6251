package ctrlruntime

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// requeue is when a Result with Requeue and no time is due: a manager waits from 5ms on, longer each time.
const requeue = time.Second

// Controller returns a reconciler as a controller of a lab, to be called for the objects of a kind, and for those that control objects of the
// kinds owned, when they change, one at a time and in virtual time. It is given its client after the lab is there:
//
//	r := &WebsiteReconciler{}
//	all := append(stagetest.Controllers(), ctrlruntime.Controller(r, websites, deployments))
//	lab := stagetest.New(t, stagetest.LabOptions{Definitions: crds, Controllers: all})
//	r.Client = ctrlruntime.New(lab.Cluster(), ctrlruntime.Options{Scheme: scheme})
//
// Errors are tried again later and later, other than terminal ones; RequeueAfter is kept to the instant; Requeue alone is after a second.
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
