package hunt_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

const infrastructure = `{apiVersion: v1, kind: Namespace, metadata: {name: dns}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: zone, namespace: dns}}
`

// registers writes each Store into a ConfigMap that is there before, in another namespace. It fails
// without the ConfigMap.
func registers(r *hunt.Run) {
	zone := types.NamespacedName{Namespace: "dns", Name: "zone"}
	r.Process("operator", func(p *hunt.Process) []reconcile.Controller {
		return []reconcile.Controller{{Name: "store", For: stores, Watches: []reconcile.Watch{{Kind: configMaps, Map: func(c *reconcile.Cache, _ reconcile.Change) (keys []types.NamespacedName) {
			for _, s := range c.List(stores, "") {
				keys = append(keys, types.NamespacedName{Namespace: s.GetNamespace(), Name: s.GetName()})
			}
			return keys
		}}}, Reconcile: func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			_, err := p.Patch(ctx, configMaps, zone, types.MergePatchType, fmt.Appendf(nil, `{"data":{%q:"here"}}`, r.Name.Name), metav1.PatchOptions{})
			return reconcile.Result{}, err
		}}}
	})
	r.Apply(store("{}"))
	r.Eventually("registered", func(v *hunt.View) error {
		if v.Get(configMaps, "dns/zone") == nil {
			return errors.New("the ConfigMap is gone")
		}
		return nil
	})
}

// TestObjectsAreNotOfTheUsers checks that users neither delete nor change what is there before the
// scenario, and that it may stay at the end.
func TestObjectsAreNotOfTheUsers(t *testing.T) {
	o := mutantOptions(300)
	o.Lab.Objects, o.Ignore = []any{infrastructure}, []string{"data"} // a deleted Store may stay registered
	report, err := hunt.Search(o, registers)
	require.NoError(t, err)
	require.Empty(t, report.Failures)
	require.Equal(t, 300, report.Runs)
	o.Lab.Objects = nil
	report, err = hunt.Search(o, func(r *hunt.Run) {
		r.Apply(infrastructure)
		registers(r)
	})
	require.NoError(t, err)
	require.NotEmpty(t, report.Failures, "users delete what they have applied")
}

// TestTheRealClockIsReported checks that the report says so, once.
func TestTheRealClockIsReported(t *testing.T) {
	scenario := func(r *hunt.Run) {
		r.Process("operator", func(p *hunt.Process) []reconcile.Controller {
			return []reconcile.Controller{{Name: "store", For: stores, Reconcile: func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
				status := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","lastTransitionTime":%q}]}}`, time.Now().UTC().Format(time.RFC3339))
				_, err := p.Patch(ctx, stores, r.Name, types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status")
				return reconcile.Result{}, err
			}}}
		})
		r.Apply(store("{}"))
	}
	o := mutantOptions(1)
	report, _ := hunt.Search(o, scenario)
	require.Contains(t, report.String(), "Store default/a: status.conditions[0].lastTransitionTime is the real time")
	o.Lab = labtest.Options{Kinds: o.Lab.Kinds, Start: time.Now()}
	report, _ = hunt.Search(o, scenario)
	require.Empty(t, report.RealClock)
}

// TestAHuntWithoutAScenarioIsRefused checks the errors of what cannot run.
func TestAHuntWithoutAScenarioIsRefused(t *testing.T) {
	_, err := hunt.Search(hunt.Options{}, nil)
	require.EqualError(t, err, "hunt: no scenario")
	_, err = hunt.Play(mutantOptions(1), func(r *hunt.Run) {
		r.Process("operator", func(*hunt.Process) []reconcile.Controller {
			return []reconcile.Controller{{Name: "store", For: stores}}
		})
	}, hunt.Plan{})
	require.ErrorContains(t, err, `process operator: controller "store": Reconcile is nil`)
}
