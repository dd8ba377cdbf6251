package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/kube/stages"
	"github.com/stagecraft-go/stagecraft/stage/player"
)

// extended are Stages with extensions. Without the extensions, "soon" has a delay of an hour and
// "late" has no delay; with them it is the other way round.
const extended = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: start
  annotations:
    stagecraft-go.github.io/patches: |
      - increment: .status.containerStatuses[0].restartCount
      - {condition: Warm, template: 'status: "True"'}
spec:
  resourceRef: {kind: Pod}
  selector: {matchExpressions: [{key: .status.phase, operator: In, values: [Pending]}]}
  next:
    statusTemplate: |
      phase: Running
      containerStatuses: [{name: c, image: i, imageID: "", ready: true, restartCount: 4}]
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: soon, annotations: {stagecraft-go.github.io/delay: 'offset: -3599s'}}
spec:
  resourceRef: {kind: Pod}
  selector: {matchLabels: {app: soon}, matchExpressions: [{key: .status.phase, operator: In, values: [Running]}]}
  delay: {durationMilliseconds: 3600000}
  next: {statusTemplate: 'phase: Succeeded'}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: late, annotations: {stagecraft-go.github.io/delay: 'offset: 1h'}}
spec:
  resourceRef: {kind: Pod}
  selector: {matchLabels: {app: late}, matchExpressions: [{key: .status.phase, operator: In, values: [Running]}]}
  delay: {durationFrom: {expressionFrom: .metadata.creationTimestamp}}
  next: {statusTemplate: 'phase: Succeeded'}
`

// TestExtensionsOfTheCluster checks what EXTENSIONS.md says about Stages in a cluster. The server
// keeps the annotations, and kwok plays the Stages without them. stages.Play refuses them with a
// reason, and plays them if the option allows it.
func TestExtensionsOfTheCluster(t *testing.T) {
	assets, err := controlplane.Assets("../kubebin", io.Discard)
	require.NoError(t, err)
	t.Parallel()
	plane, err := controlplane.Start(assets)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, plane.Stop()) })
	cluster, err := kube.NewForConfig(plane.Config())
	require.NoError(t, err)
	install(t, cluster)
	create(t, cluster, "{apiVersion: v1, kind: Node, metadata: {name: node}}")
	for _, obj := range decode(t, extended) {
		got, err := cluster.Create(t.Context(), obj, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		require.NoError(t, err)
		require.Equal(t, obj.GetAnnotations(), got.GetAnnotations())
	}

	t.Run("kwok", func(t *testing.T) {
		kwok, err := controlplane.Kwok("../kwokbin", os.Stderr)
		if errors.Is(err, controlplane.ErrNoKwok) {
			t.Skip(err)
		}
		require.NoError(t, err)
		p, err := plane.StartProgram(kwok, "--kubeconfig="+plane.Kubeconfig(), "--enable-crds=Stage", "--manage-all-nodes=true", "--node-ip=127.0.0.1")
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Stop()) }()
		soonAndLate(t, cluster, "kwok")
		eventually(t, "the offset of an hour does not count", func() bool { return phase(t, cluster, "default", "kwok-late") == "Succeeded" })
		require.Equal(t, "Running, 4 restarts, Warm ", podState(t, cluster, "kwok-soon"))
	})
	playing := func(t *testing.T, o stages.Options) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- stages.Play(ctx, cluster, player.Options{}, o) }()
		t.Cleanup(func() {
			cancel()
			require.ErrorIs(t, <-done, context.Canceled)
		})
	}
	t.Run("refused", func(t *testing.T) {
		playing(t, stages.Options{})
		want := `False @1 metadata.annotations["stagecraft-go.github.io/delay"]: an extension, which kwok does not have; to play it, set Extensions in the Options of stage.Compile; no version is in use`
		eventually(t, "the option is named", func() bool { return accepted(t, cluster, "late") == want })
	})
	t.Run("played", func(t *testing.T) {
		playing(t, stages.Options{Compile: stage.Options{Extensions: true}})
		eventually(t, "they are accepted", func() bool { return accepted(t, cluster, "late") == "True @1 " })
		soonAndLate(t, cluster, "ours")
		eventually(t, "the offset counts", func() bool { return phase(t, cluster, "default", "ours-soon") == "Succeeded" })
		require.Equal(t, "Running, 5 restarts, Warm True", podState(t, cluster, "ours-late"))
	})
}

// soonAndLate creates a Pod for each of the two Stages, and waits until they have begun.
func soonAndLate(t *testing.T, cluster *kube.Cluster, prefix string) {
	for _, name := range []string{"soon", "late"} {
		create(t, cluster, fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: %s-%s, namespace: default, labels: {app: %[2]s}},
  spec: {nodeName: node, containers: [{name: c, image: i}]}}`, prefix, name))
		eventually(t, name+" runs", func() bool { return phase(t, cluster, "default", prefix+"-"+name) != "Pending" })
	}
}

func podState(t *testing.T, cluster *kube.Cluster, name string) string {
	pod, err := cluster.Get(t.Context(), podKind, types.NamespacedName{Namespace: "default", Name: name})
	require.NoError(t, err)
	phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
	list, _, _ := unstructured.NestedSlice(pod.Object, "status", "containerStatuses")
	require.NotEmpty(t, list)
	return fmt.Sprintf("%s, %v restarts, Warm %s", phase, list[0].(map[string]any)["restartCount"], condition(pod, "Warm"))
}
