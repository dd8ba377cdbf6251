package labtest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// stamps is a controller that writes a condition to each Namespace, with the time of a clock.
func stamps(now func(reconcile.Request) time.Time) reconcile.Controller {
	return reconcile.Controller{Name: "stamps", For: namespaceKind, Reconcile: func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		status := fmt.Sprintf(`{"status":{"conditions":[{"type":"Stamped","status":"True","lastTransitionTime":%q}]}}`, now(r).UTC().Format(time.RFC3339))
		_, err := r.Client.Patch(ctx, namespaceKind, r.Name, types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status")
		return reconcile.Result{}, err
	}}
}

var namespaceKind = object("v1", "Namespace", "").GroupVersionKind()

// TestTheRealClockIsTold checks that a lab says once that a controller reads the real clock, where the
// time of the lab is another one.
func TestTheRealClockIsTold(t *testing.T) {
	real := func(reconcile.Request) time.Time { return time.Now() }
	for name, c := range map[string]struct {
		options labtest.Options
		clock   func(reconcile.Request) time.Time
		told    int
	}{
		"the real clock":             {labtest.Options{}, real, 1},
		"the clock of the lab":       {labtest.Options{}, func(r reconcile.Request) time.Time { return r.Now }, 0},
		"a lab that begins now":      {labtest.Options{Start: time.Now()}, real, 0},
		"a quiet lab":                {labtest.Options{Quiet: true}, real, 0},
		"a fixed time, of long ago":  {labtest.Options{}, func(reconcile.Request) time.Time { return time.Unix(0, 0) }, 0},
		"a lab that began yesterday": {labtest.Options{Start: time.Now().Add(-24 * time.Hour)}, real, 1},
	} {
		t.Run(name, func(t *testing.T) {
			spy := &logT{TB: t}
			c.options.Controllers = []reconcile.Controller{stamps(c.clock)}
			lab := labtest.New(spy, c.options)
			spy.end()
			require.Equal(t, c.told, strings.Count(spy.logged, "status.conditions[0].lastTransitionTime is the real time"), spy.logged)
			require.Equal(t, c.told, strings.Count(spy.logged, "Options.Start: time.Now()"))
			require.Equal(t, c.told == 1, strings.HasPrefix(lab.RealClock(), "Namespace /default: "), lab.RealClock())
		})
	}
}
