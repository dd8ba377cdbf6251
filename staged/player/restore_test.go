package player_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

var restoring = strings.Replace(portPolicy, "settle: 2s", "settle: 2s, restore: true", 1)

// With revisions.restore the Player writes the earlier revision back into the source, where the transport
// holds only what the source holds. The clusters go back to it at once.
func TestTheSourceIsRestored(t *testing.T) {
	scenario(t, restoring, func(t *testing.T, f *fleet) {
		var restored []string
		f.options.Events = f.eventsNamed("SourceRestored", func(message string) { restored = append(restored, message) })
		f.push("1")
		f.play(func() {
			f.run(40)
			require.True(t, f.holds("Succeeded"), f.message())
			f.bad["prod1@2"] = true
			f.push("2")
		})
		f.play(func() { // the snapshot comes from the store
			f.run(140)
			require.Len(t, restored, 1)
			require.Equal(t, versions("1", "1"), f.have, f.message())
			require.True(t, f.holds("Succeeded"), f.message())
			require.Equal(t, []string{"1", "2", "1"}, f.ever["prod1"])
			require.Len(t, f.status().Revisions, 2, "the restored source is the old revision")
			f.push("3")
			f.run(60)
			require.Equal(t, versions("3", "3"), f.have, f.message())
		})
	}, withSpace)
}

// What a GitOps tool manages is not written: the tool would write its own content again.
func TestASourceOfGitOpsIsNotRestored(t *testing.T) {
	for name, patch := range map[string]string{
		"label":   `{"metadata": {"labels": {"kustomize.toolkit.fluxcd.io/name": "apps"}}}`,
		"manager": `{"metadata": {"labels": {"team": "web"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			scenario(t, restoring, func(t *testing.T, f *fleet) {
				f.push("1")
				_, err := f.hub.Patch(t.Context(), deploymentKind, types.NamespacedName{Namespace: "shop", Name: "web"}, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "argocd-controller"})
				require.NoError(t, err)
				f.play(func() {
					f.run(40)
					require.True(t, f.holds("Succeeded"), f.message())
					f.bad["prod1@2"] = true
					f.push("2")
					f.run(140)
					require.Equal(t, v1alpha1.RollbackNeeded, f.phase("prod"), f.message())
					require.Contains(t, f.message(), "manages Deployment shop/web: go back there")
					require.Equal(t, versions("2", "2"), f.have)
				})
			}, withSpace)
		})
	}
}
