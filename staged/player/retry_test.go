package player_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged/manifestwork"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A retry of a stage reaches the clusters that an earlier stage selects: they do not stay at what a
// rollback brought them back to.
func TestARetryReachesAClusterOfTwoStages(t *testing.T) {
	policy := strings.Replace(portPolicy, "clusterSelectors: [{matchLabels: {env: dev}}]", "clusterSelectors: ["+devs+", {matchLabels: {name: prod1}}]", 1)
	eachPort(t, policy, func(t *testing.T, f *fleet) {
		f.push("1")
		f.play(func() {
			f.run(40)
			require.True(t, f.holds("Succeeded"), f.message())
			f.bad["prod2@2"] = true
			f.push("2")
			f.run(100)
			if f.old {
				require.Equal(t, v1alpha1.RolledBack, f.phase("prod"), f.message())
				require.Equal(t, map[string]string{"dev1": "2", "prod1": "1", "prod2": "1"}, f.have)
			} else {
				require.Equal(t, v1alpha1.RollbackNeeded, f.phase("prod"), f.message())
			}
			delete(f.bad, "prod2@2")
			f.annotate(v1alpha1.RetryPrefix+"prod", wantedName(f.status()))
			f.run(60)
			require.Equal(t, versions("2", "2"), f.have, f.message())
			require.True(t, f.holds("Succeeded"), f.message())
		})
	})
}

// wantedName is the name of the wanted revision.
func wantedName(s v1alpha1.Status) string {
	for _, r := range s.Revisions {
		if r.ID == s.Wanted {
			return r.Name
		}
	}
	return ""
}

// A retry in the middle of a withdrawal brings nothing back before its turn: the stage waits for approval
// again, and the cluster has nothing until then.
func TestARetryInTheMiddleOfAWithdrawal(t *testing.T) {
	policy := strings.Replace(portPolicy, "onFailure: Rollback", "onFailure: Rollback, approval: {before: true}", 1)
	scenario(t, policy, func(t *testing.T, f *fleet) {
		approve := func() {
			require.NotNil(t, f.record("prod").Awaiting, f.message())
			f.annotate(v1alpha1.ApprovalPrefix+"before.prod", f.record("prod").Awaiting.Ticket+" jane")
		}
		f.bad["prod1@1"] = true
		f.push("1")
		f.play(func() {
			f.run(20)
			approve()
			f.run(10)
			require.Equal(t, versions("1", "1"), f.have, f.message())
			f.keepWorks("prod1", "test/agent")
			f.run(50)
			require.Equal(t, v1alpha1.RollingBack, f.phase("prod"), f.message())
			f.annotate(v1alpha1.RetryPrefix+"prod", wantedName(f.status()))
			f.run(10)
			f.keepWorks("prod1")
			f.run(20)
			require.EqualValues(t, 2, f.record("prod").Attempt)
			for _, work := range f.list(manifestwork.Kind) {
				require.Equal(t, "dev1", work.GetNamespace(), "%s is not approved", f.message())
			}
			delete(f.bad, "prod1@1")
			approve()
			f.run(40)
			require.True(t, f.holds("Succeeded"), f.message())
		})
	}, overWorks)
}

// keepWorks sets the finalizers of the ManifestWorks of a cluster.
func (f *fleet) keepWorks(cluster string, names ...string) {
	f.t.Helper()
	found := false
	for _, work := range f.list(manifestwork.Kind) {
		if work.GetNamespace() != cluster {
			continue
		}
		found = true
		list := "[]"
		if len(names) > 0 {
			list = `["` + strings.Join(names, `","`) + `"]`
		}
		_, err := f.hub.Patch(f.t.Context(), manifestwork.Kind, types.NamespacedName{Namespace: cluster, Name: work.GetName()}, types.MergePatchType,
			[]byte(`{"metadata":{"finalizers":`+list+`}}`), metav1.PatchOptions{})
		require.NoError(f.t, err)
	}
	require.True(f.t, found)
}
