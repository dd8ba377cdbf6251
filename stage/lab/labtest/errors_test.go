package labtest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

const configMapA = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"

func configMapController(result reconcile.Result, err error) reconcile.Controller {
	return reconcile.Controller{Name: "operator", For: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
		When:      func(ch reconcile.Change) bool { return ch.Object().GetName() == "a" },
		Reconcile: func(context.Context, reconcile.Request) (reconcile.Result, error) { return result, err }}
}

// A failure of Settle names what is due next, why, and the errors of controllers.
func TestSettleSaysWhyALabIsNotAtRest(t *testing.T) {
	for name, c := range map[string]struct {
		options labtest.Options
		want    []string
	}{
		"a controller that fails": {labtest.Options{Controllers: []reconcile.Controller{configMapController(reconcile.Result{}, errors.New("panic: out of luck [recovered]\nstack"))}}, []string{
			`: controller "operator" reconciles ConfigMap default/a again, because it failed: panic: out of luck [recovered]` + "\n",
			"\n  operator default/a: panic: out of luck [recovered]", "times)",
		}},
		"a controller that looks again": {labtest.Options{Controllers: []reconcile.Controller{configMapController(reconcile.Result{After: 7 * time.Minute}, nil)}}, []string{
			`; the next thing is due in 7m0s: controller "operator" reconciles ConfigMap default/a again, because it asked for that after 7m0s`,
		}},
		"a Stage": {labtest.Options{Nodes: 1, Stages: []stage.Source{presets.NodeHeartbeat()}}, []string{`: Stage "node-heartbeat`, " is played on Node node-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			said := failure(t, c.options, func(l *labtest.Lab) {
				l.Apply(configMapA)
				l.Settle()
			})
			for _, want := range append(c.want, "not settled after 1h0m0s") {
				require.Contains(t, said, want)
			}
		})
	}
}

// A logging test records what is logged.
type logging struct {
	*testing.T
	lines []string
}

func (l *logging) Logf(format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

// Advance and a successful Settle log each error once.
func TestErrorsAreLogged(t *testing.T) {
	left := 3
	operator := configMapController(reconcile.Result{}, nil)
	operator.Reconcile = func(context.Context, reconcile.Request) (reconcile.Result, error) {
		if left--; left >= 0 {
			return reconcile.Result{}, errors.New("out of luck")
		}
		return reconcile.Result{}, nil
	}
	l := &logging{T: t}
	lab := labtest.New(l, labtest.Options{Quiet: true, Controllers: []reconcile.Controller{operator}})
	lab.Apply(configMapA)
	lab.Advance(0)
	require.Equal(t, []string{"labtest: Stages and controllers had errors\n  operator default/a: out of luck"}, l.lines)
	lab.Settle()
	require.Equal(t, "labtest: Stages and controllers had errors\n  operator default/a: out of luck (2 times)", l.lines[1])
	lab.Settle()
	require.Len(t, l.lines, 2)
}
