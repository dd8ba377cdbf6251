package testing_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/examples/testing/website"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/fakes/ctrlruntime"
	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// TestAWebsiteSurvivesEverything crashes the operator at each of its writes, lets its caches lag,
// and has users act at bad moments.
func TestAWebsiteSurvivesEverything(t *testing.T) {
	crds, err := stage.Load("testdata/crd.yaml")
	require.NoError(t, err)
	o := hunt.Options{Runs: 200, Lab: labtest.Options{Definitions: crds.OtherObjects()}}
	hunt.Test(t, o, func(r *hunt.Run) {
		r.Process("operator", func(p *hunt.Process) []reconcile.Controller {
			c := ctrlruntime.Client(p, ctrlruntime.Options{Scheme: website.Scheme()})
			return []reconcile.Controller{ctrlruntime.Controller(&website.Reconciler{Client: c}, website.Kind, website.Deployments)}
		})
		r.Apply(site)
		r.At(10*time.Minute, "new version", func(u *hunt.User) error {
			return u.Patch(website.Kind, "default/home", `{"spec":{"version":"v2"}}`)
		})
		r.Eventually("it is ready", func(v *hunt.View) error {
			home := v.Get(website.Kind, "default/home")
			if home == nil {
				return nil // users have deleted it
			}
			conditions, _, _ := unstructured.NestedSlice(home.Object, "status", "conditions")
			if len(conditions) != 1 || conditions[0].(map[string]any)["status"] != "True" {
				return fmt.Errorf("its conditions are %v", conditions)
			}
			return nil
		})
	})
}
