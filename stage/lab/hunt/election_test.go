package hunt_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// elections are mutants that run as two replicas, or whose processes compare their clocks, and the
// fault that shows the bug.
var elections = []struct {
	mutant
	fault string
}{
	{mutant{"a leader crashes: steps from memory", stepsFromMemory}, hunt.CrashAfter},
	{mutant{"a leader pauses: a random name after a live list", randomAfterLiveList}, hunt.Pause},
	{mutant{"two leaders: numbers counted on", numbersCountedOn}, hunt.Overlap},
	{mutant{"clocks differ: a time that is to come", timeByOwnClock}, hunt.Skew},
}

func TestElections(t *testing.T) {
	for _, m := range elections {
		t.Run(m.name, func(t *testing.T) {
			o := mutantOptions(300)
			o.Ignore = []string{"number", "ownerReferences"} // which Store has which number
			report, err := hunt.Search(o, m.start(true))
			require.NoError(t, err)
			require.NotEmpty(t, report.Failures, "not found: %s", report)
			f := report.Failures[0]
			require.NotZero(t, f.Run)
			require.Len(t, f.Outcome.Plan.Faults, 1, "%s", f)
			require.Equal(t, m.fault, f.Outcome.Plan.Faults[0].Do, "%s", f)
			t.Logf("%s", f)
			clean(t, o, m.start(false))
		})
	}
}

// clean hunts a correct controller.
func clean(t *testing.T, o hunt.Options, scenario func(*hunt.Run)) {
	t.Helper()
	o.Runs = max(o.Runs, *twinRuns)
	report, err := hunt.Search(o, scenario)
	require.NoError(t, err)
	if len(report.Failures) > 0 {
		t.Fatalf("%s", report.Failures[0])
	}
	require.True(t, report.Ended)
	t.Logf("%s", report)
}

// replicas adds two replicas of a controller, made again for each leader.
func replicas(r *hunt.Run, start func(*hunt.Process) func(client, *object) error) {
	r.Replicas("operator", 2, func(p *hunt.Process) []reconcile.Controller {
		do := start(p)
		return []reconcile.Controller{storeController(p, owns(tasks), func(c client, s *object, _ string) error {
			if isDeleted(s) {
				return nil
			}
			return do(c, s)
		})}
	})
	r.Apply(store("{}"))
}

// threeStores has users add two more Stores at once.
func threeStores(r *hunt.Run) {
	r.At(10*time.Minute, "more", func(u *hunt.User) error { return u.Apply(named("b"), named("c")) })
}

func named(name string) string {
	return fmt.Sprintf(`{apiVersion: example.com/v1, kind: Store, metadata: {name: %s, namespace: default}, spec: {}}`, name)
}

// hasTask reads live whether a Store has a Task.
func hasTask(c client, s *object) (bool, error) {
	list, err := c.Live().List(c.ctx, tasks, "default", metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(list.Items, func(o object) bool { return metav1.IsControlledBy(&o, s) }), nil
}

// stepsFromMemory makes a Task and then a Claim. The bug knows from memory that the Claim is missing:
// the next leader does not.
func stepsFromMemory(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		replicas(r, func(*hunt.Process) func(client, *object) error {
			missing := map[types.UID]bool{}
			return func(c client, s *object) error {
				has, err := hasTask(c, s)
				if err != nil {
					return err
				}
				if !has {
					missing[s.GetUID()] = true
					if err := c.ensure(child(tasks, s, s.GetName())); err != nil {
						return err
					}
				}
				if bug && !missing[s.GetUID()] {
					return nil
				}
				err = c.ensure(child(claims, s, s.GetName()))
				missing[s.GetUID()] = err != nil
				return err
			}
		})
		threeStores(r)
	}
}

// numbersCountedOn writes a number into the status. The bug begins with the numbers that it finds,
// and counts on by itself; the correct one makes it of the name.
func numbersCountedOn(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		replicas(r, func(p *hunt.Process) func(client, *object) error {
			next := int64(0)
			list, err := p.Live().List(context.Background(), stores, "default", metav1.ListOptions{})
			require.NoError(panics{}, err)
			for i := range list.Items {
				next = max(next, number(&list.Items[i], "status", "number"))
			}
			return func(c client, s *object) error {
				live, err := c.Live().Get(c.ctx, stores, nameOf(s))
				if err != nil || number(live, "status", "number") > 0 {
					return ignoreNotFound(err)
				}
				next++
				if !bug {
					next = int64(s.GetName()[0])
				}
				set(live, next, "status", "number")
				return c.updateStatus(live)
			}
		})
		for i, name := range []string{"b", "c", "d"} {
			r.At(10*time.Minute+time.Duration(i)*8*time.Second, name, func(u *hunt.User) error { return u.Apply(named(name)) })
		}
		r.Eventually("numbers differ", func(v *hunt.View) error {
			seen := map[int64]bool{}
			for _, s := range v.List(stores, "default") {
				n := number(s, "status", "number")
				if seen[n] && v.Deleted(tasks) == 0 {
					return fmt.Errorf("%d is given twice", n)
				}
				seen[n] = true
			}
			return nil
		})
	}
}

type panics struct{}

func (panics) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (panics) FailNow()                          {}

// randomAfterLiveList makes a Task if a live list has none: that survives crashes and lags. The bug
// lets the API server generate its name.
func randomAfterLiveList(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		replicas(r, func(*hunt.Process) func(client, *object) error {
			return func(c client, s *object) error {
				has, err := hasTask(c, s)
				if has || err != nil {
					return err
				}
				if bug {
					return c.create(nameless(child(tasks, s, "a")))
				}
				return c.ensure(child(tasks, s, s.GetName()))
			}
		})
	}
}

// timeByOwnClock has one process write when a Store began, and another one look at it. The bug takes
// a time that is to come for a mistake, for good.
func timeByOwnClock(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		forStore(r, "worker", nil, func(c client, s *object, _ string) error {
			if isDeleted(s) || text(s, "status", "began") != "" {
				return nil
			}
			set(s, c.Now().Format(time.RFC3339), "status", "began")
			return c.updateStatus(s)
		})
		forStore(r, "judge", nil, func(c client, s *object, _ string) error {
			if isDeleted(s) || text(s, "status", "began") == "" || text(s, "status", "phase") != "" {
				return nil
			}
			began, err := time.Parse(time.RFC3339, text(s, "status", "began"))
			if err != nil {
				return reconcile.Final(err)
			}
			phase := "Accepted"
			if bug && began.After(c.Now()) {
				phase = "Failed"
			}
			set(s, phase, "status", "phase")
			return c.updateStatus(s)
		})
		r.Apply(store("{}"))
	}
}

// TestReplicas: the one that leads dies, another one does after the lease has ended, and the first
// waits from then on. With one replica the lease changes nothing but the time.
func TestReplicas(t *testing.T) {
	out := play(t, randomAfterLiveList(false), "fault crash-after operator-1 store default/a create Task #1 for=1m0s\n")
	require.Empty(t, out.Findings)
	require.Contains(t, story(out), "+15s      operator-2 leads")
	out = play(t, randomAfterLiveList(false), "fault pause operator-1 store default/a create Task #1 for=10s\n")
	require.Empty(t, out.Findings)
	require.NotContains(t, story(out), "operator-2", "the lease was not lost")
	one := func(r *hunt.Run) {
		r.Replicas("operator", 1, func(p *hunt.Process) []reconcile.Controller { return nil })
		forStore(r, "other", nil, func(c client, s *object, _ string) error { return nil })
	}
	out = play(t, one, "")
	require.Empty(t, out.Findings)
	require.Contains(t, story(out), "operator-1 leads")
}
