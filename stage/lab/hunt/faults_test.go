package hunt_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// TestFaultsOfOthers: what fails or is deleted by others is told, the twin has it also,
// and a correct controller survives it.
func TestFaultsOfOthers(t *testing.T) {
	o := mutantOptions(1)
	o.Lab = labtest.Options{Kinds: []memory.Kind{{GroupVersionKind: stores, Status: true}}}
	scenario := func(r *hunt.Run) {
		runsDeployment(r)
		forStore(r, "watcher", owns(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}), func(client, *object, string) error { return nil })
	}
	base, err := hunt.Play(o, scenario, hunt.Plan{Seed: 1})
	require.NoError(t, err)
	var ready hunt.Site
	for _, s := range base.Sites {
		if s.Kind == "Pod" && s.Verb == "MODIFIED" && s.Nth == 2 {
			ready = s
			break
		}
	}
	for _, c := range []struct{ do, tells, then string }{
		{hunt.FailPod, "fails: Evicted", "hunt"},
		{hunt.StopNode, ": stop-node", "is back"},
		{hunt.RemoveNode, ": remove-node", "is back"},
	} {
		t.Run(c.do, func(t *testing.T) {
			out, err := hunt.Play(o, scenario, hunt.Plan{Seed: 1, Faults: []hunt.Fault{{Do: c.do, At: ready}}})
			require.NoError(t, err)
			require.Empty(t, out.Missed)
			require.Empty(t, out.Findings)
			_, after, told := strings.Cut(story(out), c.tells)
			require.True(t, told, story(out))
			require.Contains(t, after, c.then)
			require.Greater(t, events(out, "ADDED", "Pod"), events(base, "ADDED", "Pod"), "a Pod is made anew")
		})
	}
	t.Run("a Node that has failed", func(t *testing.T) {
		stop := hunt.Fault{Do: hunt.StopNode, At: ready}
		out, err := hunt.Play(o, scenario, hunt.Plan{Seed: 1, Faults: []hunt.Fault{stop, stop}})
		require.NoError(t, err)
		require.Empty(t, out.Findings)
		require.Equal(t, 1, strings.Count(story(out), "is back"))
	})
}

// events counts the events that were seen.
func events(out *hunt.Outcome, verb, kind string) (n int) {
	for _, s := range out.Sites {
		if s.Verb == verb && s.Kind == kind {
			n++
		}
	}
	return n
}

// TestDeletionsOfUsers: in the foreground the object stays until what it owns is gone, and orphans
// stay.
func TestDeletionsOfUsers(t *testing.T) {
	out := play(t, statusAsMemory(false), "fault delete operator store default/a update Store/status #1 policy=foreground\n")
	require.Contains(t, story(out), "deletes Store default/a: Foreground")
	require.Empty(t, out.Findings)
	out = play(t, statusAsMemory(false), "fault delete operator store default/a update Store/status #1 policy=orphan\n")
	require.Contains(t, story(out), "deletes Store default/a: Orphan")
	require.Empty(t, out.Findings)

	out = play(t, func(r *hunt.Run) {
		orphaned(r)
		r.Eventually("the Task stays", func(v *hunt.View) error {
			require.NotNil(t, v.Get(tasks, "default/a"))
			require.Empty(t, v.Get(tasks, "default/a").GetOwnerReferences())
			return nil
		})
	}, "")
	require.Empty(t, out.Findings, "the twin has the same")
}

// orphaned has users delete a Store and keep its Task.
func orphaned(r *hunt.Run) {
	forStore(r, "operator", owns(tasks), func(c client, s *object, _ string) error {
		if isDeleted(s) {
			return nil
		}
		return c.ensure(child(tasks, s, "a"))
	})
	r.Apply(store("{}"))
	r.At(time.Minute, "delete", func(u *hunt.User) error { return u.DeleteAs(metav1.DeletePropagationOrphan, stores, "default/a") })
}

// TestWatches: what a fault of a watch has a process see, and when. Users change a Store three times
// and then make a Task.
func TestWatches(t *testing.T) {
	for _, c := range []struct{ what, faults, want string }{
		{"nothing", "", "Store-1+0s Store-2+0s Store-3+0s Task-+0s"},
		{"behind, and kinds in another order", "fault lag operator sees default/a MODIFIED Store #2 for=10s\n", "Store-1+0s Task-+0s Store-2+10s Store-3+10s"},
		{"states between are missed", "fault relist operator sees default/a MODIFIED Store #1 for=10s\n", "Task-+0s Store-3+10s"},
		{"slow", "fault slow operator sees default/a MODIFIED Store #2 by=5s for=1m0s\n", "Store-1+0s Task-+0s Store-2+5s Store-3+5s"},
	} {
		t.Run(c.what, func(t *testing.T) { require.Equal(t, c.want, seen(t, c.faults)) })
	}
}

// seen returns what a process sees after a minute.
func seen(t *testing.T, faults string) string {
	all := []string{}
	out := play(t, func(r *hunt.Run) {
		all = nil
		r.Process("operator", func(p *hunt.Process) []reconcile.Controller {
			start := p.Now()
			see := func(ch reconcile.Change) bool {
				if after := p.Now().Sub(start) - time.Minute; after >= 0 && after < time.Minute {
					all = append(all, ch.Object().GetKind()+"-"+text(ch.Object(), "spec", "n")+"+"+after.String())
				}
				return true
			}
			return []reconcile.Controller{
				{Name: "store", For: stores, When: see, Reconcile: nothing},
				{Name: "task", For: tasks, When: see, Reconcile: nothing},
			}
		})
		r.Apply(store("{n: '0'}"))
		r.At(time.Minute, "changes", func(u *hunt.User) error {
			for _, n := range []string{"1", "2", "3"} {
				if err := u.Patch(stores, "default/a", `{"spec":{"n":"`+n+`"}}`); err != nil {
					return err
				}
			}
			return u.Apply(`{apiVersion: example.com/v1, kind: Task, metadata: {name: a, namespace: default}}`)
		})
	}, faults)
	require.Empty(t, out.Missed)
	return strings.Join(all, " ")
}

func nothing(context.Context, reconcile.Request) (none reconcile.Result, err error) { return none, nil }
