package workloads

import (
	"context"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/batch"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/workloads"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// playOurs plays a scenario with our controllers. Only the collection of changes in the Job
// controller takes time, as in kube-controller-manager.
func playOurs(t *testing.T, s scenario) *history {
	return play(t, s, func(w *world, all *sync.WaitGroup) {
		o := reconcile.PlayOptions{Options: reconcile.Options{Events: true, Timing: &reconcile.Timing{
			WatchDelay:  10 * time.Microsecond, // so that the changes of an instant are seen before anything is done
			Controllers: map[string]reconcile.ControllerTiming{"job": {Gather: time.Second}},
		}}}
		all.Go(func() {
			_ = reconcile.Play(w.ctx, admitted{w.cluster, w}, o, workloads.Deployments(), workloads.ReplicaSets(), workloads.StatefulSets(), workloads.DaemonSets(), batch.Jobs(), batch.FinishedJobs(), batch.OrphanedPods(), batch.CronJobs())
		})
	})
}

// admitted creates objects as an API server does.
type admitted struct {
	*memory.Cluster
	world *world
}

func (a admitted) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	return a.world.create(ctx, obj, o)
}
