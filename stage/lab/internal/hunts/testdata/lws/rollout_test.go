//go:build lws9

package lws_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	leaderworkerset "sigs.k8s.io/lws/api/leaderworkerset/v1"

	"github.com/stagecraft-go/stagecraft/stage/lab/fakes/ctrlruntime"
	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

var revisions = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ControllerRevision"}

// rollout has users give two groups of three another size, and delete the leader of the group that is to
// be updated last, after a time, 0: never.
func rollout(deleted time.Duration) func(*hunt.Run) {
	scheme := newScheme()
	three := strings.NewReplacer("replicas: 1", "replicas: 2", "size: 2", "size: 3").Replace(set)
	return func(r *hunt.Run) {
		r.Cluster().Extend(memory.Hooks{Name: "webhook of LeaderWorkerSet", Default: label})
		r.Process("operator", func(p *hunt.Process) []reconcile.Controller {
			return ctrlruntime.Setup(p, ctrlruntime.Options{Scheme: scheme}, setup)
		})
		r.Apply(three)
		r.At(10*time.Minute, "another size", func(u *hunt.User) error {
			return u.Patch(sets, "default/a", `{"spec":{"leaderWorkerTemplate":{"size":2}}}`)
		})
		if deleted > 0 {
			r.At(deleted, "delete a leader", func(u *hunt.User) error { return u.Delete(pods, "default/a-0") })
		}
		r.Always("a group has the size of its revision", sizes)
	}
}

// sizes compares the StatefulSet of each group's workers with the revision that it is labelled with.
func sizes(v *hunt.View) error {
	of := map[string]int64{}
	for _, revision := range v.List(revisions, "default") {
		if owner := metav1.GetControllerOf(revision); owner != nil && owner.Kind == sets.Kind {
			of[revision.GetLabels()[leaderworkerset.RevisionKey]] = sizeOf(revision)
		}
	}
	for _, group := range v.List(statefulSets, "default") {
		owner, key := metav1.GetControllerOf(group), group.GetLabels()[leaderworkerset.RevisionKey]
		workers, _, _ := unstructured.NestedInt64(group.Object, "spec", "replicas")
		if size, ok := of[key]; ok && owner != nil && owner.Kind == "Pod" && workers+1 != size {
			return fmt.Errorf("group %s has %d Pods, and %d by its revision %s", group.GetName(), workers+1, size, key)
		}
	}
	return nil
}

func sizeOf(revision *unstructured.Unstructured) int64 {
	var saved struct {
		Spec leaderworkerset.LeaderWorkerSetSpec
	}
	data, err := json.Marshal(revision.Object["data"])
	if err != nil || json.Unmarshal(data, &saved) != nil || saved.Spec.LeaderWorkerTemplate.Size == nil {
		return 0
	}
	return int64(*saved.Spec.LeaderWorkerTemplate.Size)
}

// optionsOf963: the rollout stops for ever after a lag of Pods, see options.
func optionsOf963() hunt.Options {
	o := options(250)
	o.Known = append(o.Known, "a restart changes nothing (StatefulSet)")
	return o
}

// TestIssue963: the size of groups changes, and the workers of a leader of the old revision are made:
// old Pods, in the new number. https://github.com/kubernetes-sigs/lws/pull/963
func TestIssue963(t *testing.T) {
	report, err := hunt.Search(optionsOf963(), rollout(0))
	require.NoError(t, err)
	look(t, report, has963, "always")
}

// TestIssue963Replayed plays the plan that was found, and the case of the pull request: the leader of
// the other group is deleted in the middle of the rollout.
func TestIssue963Replayed(t *testing.T) {
	found, err := hunt.Replay(optionsOf963(), rollout(0), "plans/TestIssue963-lag")
	require.NoError(t, err)
	deleted, err := hunt.Play(optionsOf963(), rollout(10*time.Minute+5*time.Second), hunt.Plan{})
	require.NoError(t, err)
	for _, out := range []*hunt.Outcome{found, deleted} {
		is963 := func(f hunt.Finding) bool { return f.Check == "always" }
		require.Equal(t, has963, slices.ContainsFunc(out.Findings, is963), "%v", out.Findings)
	}
}
