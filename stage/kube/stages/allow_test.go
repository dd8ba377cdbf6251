package stages_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube/stages"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
)

const copying = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: copy}
spec:
  resourceRef: {kind: ConfigMap}
  selector: {}
  steps:
  - apply:
      impersonation: {username: "system:admin"}
      template: |
        apiVersion: v1
        kind: Secret
        metadata: {name: made, namespace: kube-system}
`

// The permission to write Stages is not the permission to do everything. Stages of the cluster can
// write to other objects, or as another user, only if this is allowed.
func TestStagesOfAClusterDoWhatIsAllowed(t *testing.T) {
	for name, tc := range map[string]struct {
		allow     *stage.Allow
		condition string
		made      int
	}{
		"by default, nothing": {nil, "Accepted=False NotAllowed @1 " +
			"spec.steps[0].apply: apply, which writes other objects: not allowed here; " +
			`spec.steps[0].apply.impersonation.username: impersonation of "system:admin": not allowed here; no version is in use`, 0},
		"the user, and no Secrets": {&stage.Allow{Users: []string{"system:admin"}, Apply: map[string][]string{"ConfigMap": nil}},
			"Accepted=False NotAllowed @1 spec.steps[0].apply: apply of Secret: not allowed here; no version is in use", 0},
		"Secrets, in their own namespace": {&stage.Allow{Users: []string{"system:admin"}, Apply: map[string][]string{"Secret": nil}},
			"Accepted=True Compiled @1 ", 0},
		"Secrets of kube-system": {&stage.Allow{Users: []string{"system:admin"}, Apply: map[string][]string{"Secret": {"kube-system"}}},
			"Accepted=True Compiled @1 ", 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, l *lab) {
				l.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: team-a}}`)
				l.create(copying)
				play(t, l.cluster, stages.Options{Compile: stage.Options{Allow: tc.allow}})
				require.Equal(t, tc.condition, l.condition("copy"))
				made, err := l.cluster.List(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, "", metav1.ListOptions{})
				require.NoError(t, err)
				require.Len(t, made.Items, tc.made)
			})
		})
	}
}

// play plays the Stages of a cluster until all is done that there is to do.
func play(t *testing.T, cluster *memory.Cluster, o stages.Options) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- stages.Play(ctx, cluster, player.Options{}, o) }()
	synctest.Wait()
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}
