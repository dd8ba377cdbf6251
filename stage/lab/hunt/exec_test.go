package hunt_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
