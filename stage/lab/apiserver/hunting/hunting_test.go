package hunting_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/hunting"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// managers has TestManagers run: a manager that does not end with its context keeps a bubble from
// moving on, so it is no part of a plain go test (make hunt-managers).
var managers = flag.Bool("managers", false, "hunt whole managers")

// TestManagers: a manager with a bug is found, by its faults, and its correct twin is not. Neither is
// changed for it.
func TestManagers(t *testing.T) {
	if !*managers {
		t.Skip("make hunt-managers")
	}
	for _, c := range []struct {
		name  string
		every time.Duration             // it looks again without a reason
		start func(bug bool) controller // again after each crash
	}{
		{"a random name after a cached list", 10 * time.Second, func(bug bool) controller { return randomName{bug} }},
		{"steps from memory", 0, func(bug bool) controller { return stepsFromMemory{bug, map[types.UID]bool{}} }},
		{"an error swallowed", 0, func(bug bool) controller { return swallows{bug} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := hunting.Options{Runs: 24, Lab: labtest.Options{Nodes: -1}}
			report := hunting.Search(t, o, scenario(c.every, func() controller { return c.start(true) }))
			require.Len(t, report.Failures, 1)
			f := report.Failures[0]
			require.Equal(t, "the same end", f.Check)
			t.Logf("run %d: %s", report.Runs, f)
			report = hunting.Search(t, o, scenario(c.every, func() controller { return c.start(false) }))
			require.Empty(t, report.Failures)
			t.Logf("%d runs, %d faults struck nothing", report.Runs, len(report.Missed))
		})
	}
}

// TestAHuntThatTriesNothingFails plays TestTriesNothing, which must fail, in a process of its own.
func TestAHuntThatTriesNothingFails(t *testing.T) {
	out, err := exec.Command(os.Args[0], "-test.run=^TestTriesNothing$", "-tries-nothing").CombinedOutput()
	require.Error(t, err, "%s", out)
	require.Contains(t, string(out), "hunting: nothing is tried: the manager wrote nothing in the run without faults")
}

var triesNothing = flag.Bool("tries-nothing", false, "have TestTriesNothing run, which fails")

// TestTriesNothing: a manager that only waits.
func TestTriesNothing(t *testing.T) {
	if !*triesNothing {
		t.Skip("it fails, as TestAHuntThatTriesNothingFails checks")
	}
	hunting.Test(t, hunting.Options{Lab: labtest.Options{Nodes: -1}}, hunting.Scenario{
		Start:   func(ctx context.Context, _ *rest.Config) error { <-ctx.Done(); return nil },
		Objects: []any{owner},
	})
}

var configMaps = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

const owner = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, labels: {app: a}}, data: {size: "1"}}`

// A controller acts on ConfigMaps with the label app.
type controller interface {
	do(ctx context.Context, c client.Client, owner *corev1.ConfigMap) error
}

func scenario(every time.Duration, start func() controller) hunting.Scenario {
	return hunting.Scenario{
		Start: func(ctx context.Context, c *rest.Config) error {
			m, err := ctrl.NewManager(c, ctrl.Options{
				LeaderElection: true, LeaderElectionID: "example", LeaderElectionNamespace: "default",
				Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true), UsePriorityQueue: new(false)},
			})
			if err != nil {
				return err
			}
			do := start()
			reconciles := reconcile.Func(func(ctx context.Context, q reconcile.Request) (none reconcile.Result, err error) {
				var owner corev1.ConfigMap
				if err := m.GetClient().Get(ctx, q.NamespacedName, &owner); err != nil {
					return none, client.IgnoreNotFound(err)
				}
				if owner.Labels["app"] == "" || owner.DeletionTimestamp != nil {
					return none, nil
				}
				return reconcile.Result{RequeueAfter: every}, do.do(ctx, m.GetClient(), &owner)
			})
			if err := ctrl.NewControllerManagedBy(m).For(&corev1.ConfigMap{}).Owns(&corev1.ConfigMap{}).Complete(reconciles); err != nil {
				return err
			}
			return m.Start(ctx)
		},
		Objects: []any{owner},
		Steps:   []hunting.Step{{At: 5 * time.Minute, Do: changes}},
	}
}

// changes has a user change the owner.
func changes(lab *labtest.Lab) {
	name := types.NamespacedName{Namespace: "default", Name: "a"}
	_, err := lab.Cluster().Patch(context.Background(), configMaps, name, types.MergePatchType, []byte(`{"data":{"size":"2"}}`), metav1.PatchOptions{FieldManager: "user"})
	if err != nil {
		panic(err) // nobody else writes it
	}
}

func child(c client.Client, o *corev1.ConfigMap, name string) *corev1.ConfigMap {
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: name}}
	_ = ctrl.SetControllerReference(o, made, c.Scheme()) // both are in one namespace
	return made
}

// randomName makes a child unless its cache has one. The bug lets the API server generate its name.
type randomName struct{ bug bool }

func (r randomName) do(ctx context.Context, c client.Client, o *corev1.ConfigMap) error {
	var all corev1.ConfigMapList
	if err := c.List(ctx, &all, client.InNamespace(o.Namespace)); err != nil {
		return err
	}
	for i := range all.Items {
		if metav1.IsControlledBy(&all.Items[i], o) {
			return nil
		}
	}
	made := child(c, o, "a-child")
	if r.bug {
		made.Name, made.GenerateName = "", "a-"
	}
	return client.IgnoreAlreadyExists(c.Create(ctx, made))
}

// stepsFromMemory makes two children. The bug knows from memory that the second is missing.
type stepsFromMemory struct {
	bug     bool
	missing map[types.UID]bool
}

func (s stepsFromMemory) do(ctx context.Context, c client.Client, o *corev1.ConfigMap) error {
	err := c.Create(ctx, child(c, o, "a-one"))
	if err == nil {
		s.missing[o.UID] = true
	}
	if client.IgnoreAlreadyExists(err) != nil {
		return err
	}
	if s.bug && !s.missing[o.UID] {
		return nil
	}
	err = client.IgnoreAlreadyExists(c.Create(ctx, child(c, o, "a-two")))
	s.missing[o.UID] = err != nil
	return err
}

// swallows makes a child. The bug forgets an error.
type swallows struct{ bug bool }

func (s swallows) do(ctx context.Context, c client.Client, o *corev1.ConfigMap) error {
	err := client.IgnoreAlreadyExists(c.Create(ctx, child(c, o, "a-child-"+o.Data["size"])))
	if s.bug {
		return nil
	}
	return err
}
