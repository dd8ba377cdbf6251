package hunt_test

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

func play(t *testing.T, scenario func(*hunt.Run), faults string) *hunt.Outcome {
	t.Helper()
	plan, err := hunt.ParsePlan("test", "hunt v1\nseed 1\n"+faults)
	require.NoError(t, err)
	out, err := hunt.Play(mutantOptions(1), scenario, plan)
	require.NoError(t, err)
	return out
}

func story(out *hunt.Outcome) (text string) {
	for _, l := range out.Story {
		text += l.String() + "\n"
	}
	return text
}

func TestAnAnswerThatIsLost(t *testing.T) {
	out := play(t, statusAsMemory(true), "fault lose operator store default/a create Task #1\n")
	require.Equal(t, "the same end", out.Findings[0].Check)
	require.Contains(t, story(out), "fails: Timeout: the answer was lost")
	require.Empty(t, play(t, statusAsMemory(false), "fault lose operator store default/a create Task #1\n").Findings)
}

// TestACrashIsFinal: what a controller defers after its process has died is not done, and the next
// life has nothing of its memory.
func TestACrashIsFinal(t *testing.T) {
	var after error
	lives := 0
	scenario := func(r *hunt.Run) {
		r.Process("operator", func(p *hunt.Process) []reconcile.Controller {
			lives++
			return []reconcile.Controller{storeController(p, owns(tasks), func(c client, s *object, _ string) error {
				if isDeleted(s) {
					return nil
				}
				defer func() {
					if err := c.create(child(claims, s, "deferred")); err != nil && !isExists(err) {
						after = err
					}
				}()
				return c.ensure(child(tasks, s, "a"))
			})}
		})
		r.Apply(store("{}"))
	}
	out := play(t, scenario, "fault crash-after operator store default/a create Task #1 for=1m0s\n")
	require.EqualError(t, after, "hunt: the process has crashed")
	require.Empty(t, out.Findings)
	require.Contains(t, story(out), "+1m0s     operator   starts again")
	require.Contains(t, story(out), "+1m0s     operator   store default/a  create Claim default/deferred")
}

func isExists(err error) bool {
	return apierrors.IsAlreadyExists(err)
}

func TestChecksOfUsers(t *testing.T) {
	scenario := func(r *hunt.Run) {
		statusAsMemory(false)(r)
		r.Always("no task", func(v *hunt.View) error {
			if n := len(v.List(tasks, "default")); n > 0 {
				return fmt.Errorf("%d tasks", n)
			}
			return nil
		})
		r.Eventually("a third backup", func(v *hunt.View) error {
			if v.Get(tasks, "default/a-wednesday") == nil {
				return errors.New("none")
			}
			return nil
		})
	}
	out := play(t, scenario, "")
	require.Len(t, out.Findings, 2)
	require.Equal(t, hunt.Finding{Check: "always", Kind: "no task", Text: "no task: 1 tasks"}, out.Findings[0])
	require.Equal(t, hunt.Finding{Check: "eventually", Kind: "a third backup", Text: "a third backup: none"}, out.Findings[1])
}

func TestAPanicIsAFinding(t *testing.T) {
	out := play(t, func(r *hunt.Run) {
		forStore(r, "operator", nil, func(_ client, s *object, _ string) error {
			if s == nil {
				panic("there is no Store")
			}
			return nil
		})
		r.Apply(store("{}"))
	}, "")
	require.Equal(t, "no reconcile panics (store): store default/a: there is no Store", out.Findings[0].String())
}

func TestAScenarioThatCannotBeSetUp(t *testing.T) {
	for _, scenario := range []func(*hunt.Run){
		func(r *hunt.Run) { r.Apply("{apiVersion: example.com/v1, kind: Shop, metadata: {name: a}}") },
		func(r *hunt.Run) {
			r.Process("operator", func(*hunt.Process) []reconcile.Controller {
				nothing := func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil }
				return []reconcile.Controller{{Name: "none", For: stores.GroupVersion().WithKind("Shop"), Reconcile: nothing}}
			})
		},
	} {
		_, err := hunt.Search(mutantOptions(1), scenario)
		require.ErrorContains(t, err, "Shop")
	}
}

// TestAHuntThatTriesNothingFails: it would pass whatever the controllers do.
func TestAHuntThatTriesNothingFails(t *testing.T) {
	controller := func(name string, kind schema.GroupVersionKind) func(*hunt.Process) []reconcile.Controller {
		return func(*hunt.Process) []reconcile.Controller {
			return []reconcile.Controller{{Name: name, For: kind, Reconcile: func(context.Context, reconcile.Request) (reconcile.Result, error) {
				return reconcile.Result{}, nil
			}}}
		}
	}
	both := func(p *hunt.Process) []reconcile.Controller {
		return append(controller("a", configMaps)(p), controller("a", deployments)(p)...)
	}
	for want, scenario := range map[string]func(*hunt.Run){
		"it has no process, so nothing is tried: add one with Run.Process": func(r *hunt.Run) { r.Apply(store("{}")) },
		"process operator reconciled nothing in the run without faults: no object concerns its controllers operator/app (apps/v1, Kind=Deployment): apply one": func(r *hunt.Run) {
			r.Process("operator", controller("app", deployments))
			r.Apply(store("{}"))
		},
		"process b reconciled nothing": func(r *hunt.Run) {
			r.Process("a", controller("app", stores))
			r.Process("b", controller("app", deployments))
			r.Apply(store("{}"))
		},
		"process none reconciled nothing in the run without faults: it has no controllers": func(r *hunt.Run) {
			r.Process("none", func(*hunt.Process) []reconcile.Controller { return nil })
		},
		"the run without faults reached no site": func(r *hunt.Run) {
			r.Process("operator", controller("ns", schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})) // a lab has some
		},
		"two processes are named a-1": func(r *hunt.Run) {
			r.Replicas("a", 2, controller("app", stores))
			r.Process("a-1", controller("app", stores))
		},
		"process a: two controllers are named a": func(r *hunt.Run) { r.Process("a", both) },
		"0 replicas of a: want at least 1":       func(r *hunt.Run) { r.Replicas("a", 0, both) },
	} {
		report, err := hunt.Search(mutantOptions(1), scenario)
		require.ErrorContains(t, err, want)
		require.Nil(t, report)
	}
	_, err := hunt.Play(mutantOptions(1), func(*hunt.Run) {}, hunt.Plan{})
	require.ErrorContains(t, err, "no process")

	report, err := hunt.Search(mutantOptions(1), func(r *hunt.Run) {
		r.Process("operator", func(p *hunt.Process) []reconcile.Controller {
			return append(controller("store", stores)(p), controller("app", deployments)(p)...)
		})
		r.Apply(store("{}"))
	})
	require.NoError(t, err)
	require.Equal(t, []string{"operator/app (apps/v1, Kind=Deployment)"}, report.Idle)
	require.Contains(t, report.String(), "not tried, nothing to reconcile: operator/app (apps/v1, Kind=Deployment)")
}

// TestKindsThatAreReadAreSeenLate: a kind that is read without a watch lags as others do.
func TestKindsThatAreReadAreSeenLate(t *testing.T) {
	out := play(t, watchMissing(true), "fault lag operator sees default/settings MODIFIED ConfigMap #1\n")
	require.Empty(t, out.Missed)
}

// TestTheSameWithAnyNumberOfWorkers compares whole reports.
func TestTheSameWithAnyNumberOfWorkers(t *testing.T) {
	search := func(workers int, start func(*hunt.Run)) *hunt.Report {
		o := mutantOptions(150)
		o.Workers = workers
		report, err := hunt.Search(o, start)
		require.NoError(t, err)
		return report
	}
	for _, start := range []func(*hunt.Run){staleDeletion(true), scaleDownStale(false), countFromList(true)} {
		one, many := search(1, start), search(4, start)
		require.Equal(t, one.String(), many.String())
		require.Len(t, many.Failures, len(one.Failures))
		for i := range one.Failures {
			require.Equal(t, one.Failures[i].String(), many.Failures[i].String())
		}
	}
}

// TestTimeTravel: the provisioner begins with a state that is older than what it has done.
func TestTimeTravel(t *testing.T) {
	out := play(t, statusAsMemory(true), "fault crash-after operator store default/a update Store/status #1 behind=1\n")
	require.Equal(t, "the same end", out.Findings[0].Check)
}

// TestHuntsCollectLess: Go collects garbage less often during a hunt, and as before after it.
func TestHuntsCollectLess(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	percent := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	before, during := percent(), 0
	hunt.Test(t, mutantOptions(1), func(r *hunt.Run) {
		during = percent()
		statusAsMemory(false)(r)
	})
	require.Equal(t, 400, during)
	require.Equal(t, before, percent())
	t.Setenv("GOGC", "50")
	hunt.Test(t, mutantOptions(1), func(r *hunt.Run) {
		during = percent()
		statusAsMemory(false)(r)
	})
	require.Equal(t, before, during, "whoever sets GOGC decides")
}

// TestUsersLeaveNamespacesThatCannotBeDeleted: a fault that has them delete what they applied is about
// another object.
func TestUsersLeaveNamespacesThatCannotBeDeleted(t *testing.T) {
	out := play(t, func(r *hunt.Run) {
		r.Apply(`{apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {a: b}}}`)
		statusAsMemory(false)(r)
	}, "fault delete operator store default/a update Store/status #1\n")
	require.Empty(t, out.Findings)
	during, _, _ := strings.Cut(story(out), "the users delete what they applied")
	require.Contains(t, during, "deletes Store default/a")
}
