package player

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// Another program has cut a revision and then the one before again, and this program sees only the second of these
// statuses, and the source as it was between. It takes nothing back: the epoch of the status has grown.
func TestARevisionThatCameBackUnseenIsNotTakenBack(t *testing.T) {
	policies, err := staged.Compile(staged.Options{}, staged.Parse("policy.yaml", []byte(`apiVersion: community.kubestellar.io/v1alpha1
kind: StagedBindingPolicy
metadata: {name: s}
spec:
  updates: Staged
  revisions: {settle: 2s}
  downsync: [{namespaces: [shop]}]
  stages: [{name: prod, clusterSelectors: [{}]}]
`)))
	require.NoError(t, err)
	kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	s := newSource([]WorkloadKind{{GroupVersionKind: kind}})
	state := &policyState{contents: map[fleet.RevisionID]fleet.Snapshot{}}
	v, at := View{Policy: policies[0]}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	look := func(data string, after time.Duration) fleet.Workload {
		obj := configMap("a", map[string]any{"data": map[string]any{"k": data}})
		s.observe(watchEvent{kind: kind, obj: obj})
		at = at.Add(after)
		return s.workload(v, state, at)
	}
	first := look("1", 0).Revision
	v.Status = v1alpha1.Status{Wanted: string(first), Epoch: 1}
	require.Equal(t, first, look("1", time.Minute).Revision)
	look("2", time.Second)
	v.Status.Epoch = 3
	w := look("2", 10*time.Second)
	require.Empty(t, w.Revision, "another program may have seen something newer")
	require.True(t, w.Unsettled)
	require.NotEqual(t, first, look("2", 2*time.Second).Revision, "nothing newer has come")
}
