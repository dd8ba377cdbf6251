package greeter

import (
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/scheme"

	"github.com/stagecraft-go/stagecraft/stage/lab/fakes/ctrlruntime"
	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

func TestTheOperatorSurvivesEverything(t *testing.T) {
	hunt.Test(t, hunt.Options{Runs: 50}, func(r *hunt.Run) {
		r.Process("operator", func(p *hunt.Process) []reconcile.Controller { // again after each crash
			c := ctrlruntime.Client(p, ctrlruntime.Options{Scheme: scheme.Scheme})
			return []reconcile.Controller{ctrlruntime.Controller(&Reconciler{c}, configMaps, deployments)}
		})
		r.Apply(web)
		r.At(10*time.Minute, "scale", func(u *hunt.User) error {
			return u.Patch(configMaps, "default/web", `{"data":{"replicas":"3"}}`)
		})
	})
}
