package hunt_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// TestFaultsOfExec: a command fails, its output is cut off, and the process dies at it.
func TestFaultsOfExec(t *testing.T) {
	pods := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	var told []string
	o := hunt.Options{Lab: labtest.Options{Containers: containers.Options{Exec: func(_ context.Context, c containers.Container, command containers.Command) (int, error) {
		_, err := fmt.Fprint(command.Stdout, "0123456789")
		return 0, err
	}}}}
	scenario := func(r *hunt.Run) {
		r.Process("operator", func(p *hunt.Process) []reconcile.Controller {
			return []reconcile.Controller{{Name: "Asks", For: pods, Reconcile: func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
				pod, err := p.Get(ctx, pods, request.Name)
				if apierrors.IsNotFound(err) {
					return reconcile.Result{}, nil
				}
				if phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase"); phase != "Running" || pod.GetDeletionTimestamp() != nil {
					return reconcile.Result{}, nil
				}
				var out bytes.Buffer
				_, err = p.Exec(ctx, request.Name, "", containers.Command{Argv: []string{"status"}, Streams: containers.Streams{Stdout: &out}})
				told = append(told, fmt.Sprint(out.String(), " ", err))
				return reconcile.Result{}, err
			}}}
		})
		r.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}`)
	}
	base, err := hunt.Play(o, scenario, hunt.Plan{Seed: 1})
	require.NoError(t, err)
	require.Equal(t, "0123456789 <nil>", told[0])
	site := hunt.Site{Process: "operator", Controller: "Asks", Key: types.NamespacedName{Namespace: "default", Name: "a"}, Verb: "exec", Kind: "Pod/exec", Nth: 1}
	require.Contains(t, base.Sites, site)
	for do, want := range map[string]string{
		hunt.Refuse: " Internal error occurred: refused by the hunt",
		hunt.Lose:   "01234 Timeout: the answer was lost",
	} {
		told = nil
		fault := hunt.Fault{Do: do, At: site}
		outcome, err := hunt.Play(o, scenario, hunt.Plan{Seed: 1, Faults: []hunt.Fault{fault}})
		require.NoError(t, err)
		require.Empty(t, outcome.Findings)
		require.Contains(t, strings.Join(told, "\n"), want)
		plan, err := hunt.ParsePlan("p", hunt.Plan{Seed: 1, Faults: []hunt.Fault{fault}}.String())
		require.NoError(t, err)
		require.Equal(t, fault, plan.Faults[0])
	}
}

// asks is a scenario in which an operator asks for something of the running Pod a, each minute for a
// while. It records what the operator was told, with the time, for each run.
func asks(told *[][]string, do func(context.Context, *hunt.Process, types.NamespacedName) (string, error)) func(*hunt.Run) {
	pods := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	return func(r *hunt.Run) {
		var start time.Time
		*told = append(*told, nil)
		run := len(*told) - 1
		r.Process("operator", func(p *hunt.Process) []reconcile.Controller {
			return []reconcile.Controller{{Name: "Asks", For: pods, Reconcile: func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
				pod, err := p.Get(ctx, pods, request.Name)
				if apierrors.IsNotFound(err) {
					return reconcile.Result{}, nil
				}
				if phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase"); phase != "Running" || pod.GetDeletionTimestamp() != nil {
					return reconcile.Result{}, nil
				}
				if start.IsZero() {
					start = p.Now()
				}
				if p.Now().Sub(start) > 5*time.Minute {
					return reconcile.Result{}, nil
				}
				text, err := do(ctx, p, request.Name)
				(*told)[run] = append((*told)[run], fmt.Sprint(p.Now().Sub(start), " ", text, " ", err))
				return reconcile.Result{After: time.Minute}, nil
			}}}
		})
		r.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}`)
	}
}

// TestRequestsForContainersFail: a command hangs, the older half of a log is lost, usage is old.
func TestRequestsForContainersFail(t *testing.T) {
	o := hunt.Options{Lab: labtest.Options{Containers: containers.Options{
		Exec: func(_ context.Context, _ containers.Container, command containers.Command) (int, error) {
			_, err := fmt.Fprint(command.Stdout, "0123456789")
			return 0, err
		},
		Logs: func(context.Context, containers.Container) (iter.Seq[containers.Line], error) {
			return containers.Lines("one", "two", "three", "four"), nil
		},
		Usage: func(c containers.Container, now time.Time) (containers.Usage, error) {
			return containers.Usage{CPU: *resource.NewQuantity(int64(now.Sub(c.Started)/time.Minute), resource.DecimalSI), Time: now}, nil
		},
	}}}
	requests := map[string]func(context.Context, *hunt.Process, types.NamespacedName) (string, error){
		"exec": func(ctx context.Context, p *hunt.Process, name types.NamespacedName) (string, error) {
			var out bytes.Buffer
			_, err := p.Exec(ctx, name, "", containers.Command{Argv: []string{"x"}, Streams: containers.Streams{Stdout: &out}})
			return out.String(), err
		},
		"logs": func(ctx context.Context, p *hunt.Process, name types.NamespacedName) (string, error) {
			text, err := p.Logs(ctx, name, containers.LogOptions{})
			return strings.ReplaceAll(text, "\n", ","), err
		},
		"usage": func(ctx context.Context, p *hunt.Process, name types.NamespacedName) (string, error) {
			used, err := p.Usage(ctx, name)
			cpu := used["c"].CPU
			return fmt.Sprint(cpu.String(), " cores ", p.Now().Sub(used["c"].Time).Truncate(time.Hour) == 0), err
		},
	}
	for _, test := range []struct {
		verb, kind, fault string
		nth               int
		want              []string
	}{
		{"exec", "Pod/exec", "lose %s for=90s", 2, []string{"0s 0123456789 <nil>", "2m30s 01234 Timeout: the answer was lost", "2m30s 0123456789 <nil>", "3m30s 0123456789 <nil>"}},
		{"logs", "Pod/log", "lose %s", 2, []string{"0s one,two,three,four, <nil>", "1m0s three,four, <nil>", "2m0s one,two,three,four, <nil>"}},
		{"usage", "Pod/usage", "lag %s for=90s", 3, []string{"0s 0 cores true <nil>", "1m0s 1 cores true <nil>", "2m0s 1 cores true <nil>", "3m0s 1 cores true <nil>", "4m0s 4 cores true <nil>"}},
		{"usage", "Pod/usage", "lag %s", 1, []string{"0s 0 cores false podmetrics.metrics.k8s.io \"default/a\" not found", "1m0s 1 cores true <nil>"}},
	} {
		site := fmt.Sprintf("operator Asks default/a %s %s #%d", test.verb, test.kind, test.nth)
		plan, err := hunt.ParsePlan("p", "hunt v1\nseed 1\nfault "+fmt.Sprintf(test.fault, site))
		require.NoError(t, err)
		var told [][]string
		outcome, err := hunt.Play(o, asks(&told, requests[test.verb]), plan)
		require.NoError(t, err)
		require.Empty(t, outcome.Findings)
		require.Empty(t, outcome.Missed)
		played := slices.ContainsFunc(told, func(run []string) bool { return slices.Equal(run[:min(len(run), len(test.want))], test.want) })
		require.True(t, played, "%s: %v is none of %v", test.fault, test.want, told)
	}
	_, err := hunt.ParsePlan("p", "hunt v1\nseed 1\nfault lag operator Asks default/a exec Pod/exec #1")
	require.ErrorContains(t, err, "lag strikes at what a process sees, not at a write")
}
