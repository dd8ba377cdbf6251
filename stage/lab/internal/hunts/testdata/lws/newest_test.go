//go:build lws9

package lws_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/lab/fakes/ctrlruntime"
	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/hunts/newest"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// newestOptions: conditions that were true for a moment stay as false, if the operator has seen that moment.
func newestOptions() hunt.Options {
	return hunt.Options{Ignore: []string{"conditions"}, Lab: labtest.Options{Kinds: []memory.Kind{{GroupVersionKind: sets, Status: true}}}}
}

// newestScenario is that of v0.9.0 with steps, without the checks of known bugs.
func newestScenario(manifest string, steps func(*hunt.Run)) func(*hunt.Run) {
	scheme := newScheme()
	return func(r *hunt.Run) {
		r.Cluster().Extend(memory.Hooks{Name: "webhook of LeaderWorkerSet", Default: label})
		r.Process("operator", func(p *hunt.Process) []reconcile.Controller {
			return ctrlruntime.Setup(p, ctrlruntime.Options{Scheme: scheme}, setup)
		})
		r.Apply(manifest)
		steps(r)
	}
}

func patch(kind schema.GroupVersionKind, body string) func(*hunt.User) error {
	return func(u *hunt.User) error { return u.Patch(kind, "default/a", body) }
}

func hunting(t *testing.T, scenario func(*hunt.Run)) {
	newest.Replay(t, newestOptions(), scenario)
	newest.Hunt(t, newestOptions(), scenario)
}

// TestNewestScale: groups come and go.
func TestNewestScale(t *testing.T) {
	hunting(t, newestScenario(set, func(r *hunt.Run) {
		r.At(time.Hour, "scale up", patch(sets, `{"spec":{"replicas":2}}`))
		r.At(2*time.Hour, "scale down", patch(sets, `{"spec":{"replicas":1}}`))
	}))
}

// TestNewestRollout: two groups take a new image one after the other, with a group more for the time.
func TestNewestRollout(t *testing.T) {
	two := strings.NewReplacer("replicas: 1", "replicas: 2", "maxSurge: 0", "maxSurge: 1").Replace(set)
	hunting(t, newestScenario(two, func(r *hunt.Run) {
		r.At(time.Hour, "new image", patch(sets, `{"spec":{"leaderWorkerTemplate":{"workerTemplate":{"spec":{"terminationGracePeriodSeconds":20,
			"containers":[{"name":"c","image":"two","command":["sleep","1000d"]}]}}}}}`))
		r.At(2*time.Hour, "delete a leader", func(u *hunt.User) error { return u.Delete(pods, "default/a-0") })
	}))
}

// TestNewestLeaderReady: workers are made when their leader is ready, each group has a Service, and a
// worker that is deleted has the group made anew.
func TestNewestLeaderReady(t *testing.T) {
	ready := strings.NewReplacer("LeaderCreated", "LeaderReady", "Shared", "UniquePerReplica", "replicas: 1", "replicas: 2").Replace(set)
	hunting(t, newestScenario(ready, func(r *hunt.Run) {
		r.At(time.Hour, "delete a worker", func(u *hunt.User) error { return u.Delete(pods, "default/a-1-1") })
		r.At(2*time.Hour, "scale down", patch(sets, `{"spec":{"replicas":1}}`))
	}))
}

// TestNewestRevisions: a ControllerRevision is made anew in each reconcile until the StatefulSet of the
// leaders is seen. Found by TestNewestScale.
func TestNewestRevisions(t *testing.T) {
	found := newest.Replay(t, newestOptions(), newestScenario(set, func(r *hunt.Run) {
		r.Always("a template has one revision", func(v *hunt.View) error {
			made := 0
			for _, revision := range v.List(revisions, "default") {
				if owner := metav1.GetControllerOf(revision); owner != nil && owner.Kind == sets.Kind {
					made++
				}
			}
			if made > 1 {
				return fmt.Errorf("it has %d", made)
			}
			return nil
		})
	}))
	require.NotEmpty(t, found)
	require.Equal(t, "always", found[0].Check)
}

// TestNewestRolloutStops: a rollout stops for ever if a leader Pod is seen to be ready after its
// StatefulSet, since the reconciler of sets does not watch Pods. Found by TestIssue963.
func TestNewestRolloutStops(t *testing.T) {
	found := newest.Replay(t, newestOptions(), rollout(0))
	require.True(t, slices.ContainsFunc(found, func(f hunt.Finding) bool { return f.Check == "a restart changes nothing" && f.Kind == "StatefulSet" }))
}
