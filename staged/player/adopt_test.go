package player_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// former is a BindingPolicy of a user that has brought the workload to some clusters.
func (f *fleet) former(selectors ...any) {
	f.put(map[string]any{"apiVersion": bindingPolicyKind.GroupVersion().String(), "kind": "BindingPolicy", "metadata": map[string]any{"name": "old"},
		"spec": map[string]any{"clusterSelectors": selectors, "downsync": []any{map[string]any{"objectSelectors": []any{map[string]any{"matchLabels": map[string]any{"app": "web"}}}, "statusCollectors": []any{"agg"}}}}})
}

func (f *fleet) exists(bindingPolicy string) bool {
	_, err := f.hub.Get(f.t.Context(), bindingPolicyKind, types.NamespacedName{Name: bindingPolicy})
	require.True(f.t, err == nil || apierrors.IsNotFound(err), err)
	return err == nil
}

func env(name string) map[string]any {
	return map[string]any{"matchLabels": map[string]any{"env": name}}
}

// A user's BindingPolicy is taken over: the stage holds its clusters first, and only then the message
// asks for its removal, or the policy removes it. run checks that no cluster loses the workload.
func TestABindingPolicyIsAdopted(t *testing.T) {
	none := strings.Replace(portPolicy, "updates: Staged", "updates: Staged\n  requireEvidence: None", 1)
	plain := atOnce(stageOf("dev", devs, ""), stageOf("prod", prods, ""))
	adopting := func(policy, more string) string {
		return strings.Replace(policy, "  downsync:", "  adopt: [{bindingPolicy: old, stage: prod"+more+"}]\n  downsync:", 1)
	}
	for _, c := range []struct {
		name, policy string
		over         port
	}{{"Staged", portPolicy, withSpace}, {"StagedUnverified", none, hubAlone}, {"AtOnce", plain, hubAlone}, {"AtOnceVerified", plain, withSpace}} {
		t.Run(c.name, func(t *testing.T) {
			scenario(t, adopting(c.policy, ""), func(t *testing.T, f *fleet) {
				f.adoptByHand(c.over.name == withSpace.name && c.name == "Staged")
			}, c.over)
			scenario(t, adopting(c.policy, ", release: true"), func(t *testing.T, f *fleet) {
				f.push("1")
				f.former(env("prod"))
				f.agents()
				f.play(func() {
					f.run(60)
					require.False(t, f.exists("old"))
					require.Equal(t, versions("1", "1"), f.have, f.message())
					require.True(t, f.holds("Succeeded"), f.message())
				})
			}, c.over)
		})
	}
}

func (f *fleet) adoptByHand(knows bool) {
	t := f.t
	f.push("1")
	f.former(env("prod"))
	f.agents()
	require.Equal(t, "1", f.have["prod1"])
	f.play(func() {
		f.run(60)
		require.True(t, f.exists("old"))
		require.Contains(t, f.message(), "kubectl delete bindingpolicy old", "the stage holds everything by now")
		require.True(t, f.exists("s.stage.prod"))
		require.Equal(t, v1alpha1.Pending, f.phase("prod"))
		require.NotContains(t, f.message(), "places the same objects")
		require.NoError(t, f.hub.Delete(t.Context(), bindingPolicyKind, types.NamespacedName{Name: "old"}, metav1.DeleteOptions{}))
		f.run(60)
		require.Equal(t, versions("1", "1"), f.have, f.message())
		require.True(t, f.holds("Succeeded"), f.message())
		if !knows {
			return
		}
		f.bad["prod1@2"] = true
		f.push("2")
		f.run(100)
		require.Equal(t, v1alpha1.RollbackNeeded, f.phase("prod"), "what the user's BindingPolicy had brought is what was good: %s", f.message())
		require.Contains(t, f.message(), "until the source holds r1-")
	})
}

// A BindingPolicy that also holds what the stage cannot hold is not asked to go.
func TestAnAdoptionThatWouldLoseSomething(t *testing.T) {
	policy := strings.Replace(portPolicy, "  downsync:", "  adopt: [{bindingPolicy: old, stage: prod, release: true}]\n  downsync:", 1)
	scenario(t, policy, func(t *testing.T, f *fleet) {
		f.push("1")
		f.former(env("prod"), env("dev"))
		f.agents()
		f.play(func() {
			f.run(60)
			require.True(t, f.exists("old"))
			require.Contains(t, f.message(), "also holds dev1")
			require.NotContains(t, f.message(), "delete")
			require.Equal(t, versions("1", "1"), f.have)
		})
	}, withSpace)
}
