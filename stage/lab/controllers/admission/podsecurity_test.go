package admission_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/warning"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/admission"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// warnings collects the warnings of writes.
type warnings []string

func (w *warnings) AddWarning(_, text string) { *w = append(*w, text) }

const (
	plainPod      = `{apiVersion: v1, kind: Pod, metadata: {name: plain}, spec: {containers: [{name: c, image: i}]}}`
	privilegedPod = `{apiVersion: v1, kind: Pod, metadata: {name: root}, spec: {hostNetwork: true, containers: [{name: c, image: i, securityContext: {privileged: true}}]}}`
)

// TestPodSecurity checks that the labels of a Namespace decide about Pods, and that clients are warned
// about Pods that are there and about workloads.
func TestPodSecurity(t *testing.T) {
	c := memory.New(memory.Options{})
	c.Extend(admission.Plugins())
	require.NoError(t, c.Load(t.Context(), []byte(`{apiVersion: v1, kind: Namespace, metadata: {name: default}}`)))
	_, err := create(t, c, privilegedPod)
	require.NoError(t, err, "without labels everything is allowed")

	var told warnings
	ctx := warning.WithWarningRecorder(t.Context(), &told)
	label := func(text string) error {
		_, err := c.Patch(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, types.NamespacedName{Name: "default"},
			types.MergePatchType, []byte(`{"metadata":{"labels":`+text+`}}`), metav1.PatchOptions{})
		return err
	}
	require.True(t, apierrors.IsInvalid(label(`{"pod-security.kubernetes.io/enforce":"none"}`)))
	require.NoError(t, label(`{"pod-security.kubernetes.io/enforce":"baseline","pod-security.kubernetes.io/warn":"restricted"}`))
	require.Equal(t, warnings{
		`existing pods in namespace "default" violate the new PodSecurity enforce level "baseline:latest"`,
		"root: host namespaces, privileged",
	}, told)

	_, err = create(t, c, `{apiVersion: v1, kind: Pod, metadata: {name: other}, spec: {hostPID: true, containers: [{name: c, image: i}]}}`)
	require.True(t, apierrors.IsForbidden(err))
	require.ErrorContains(t, err, `pods "other" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostPID=true)`)
	_, err = create(t, c, plainPod)
	require.NoError(t, err)

	told = nil
	for _, text := range []string{
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","namespace":"default"},"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}}`,
		`{"apiVersion":"v1","kind":"PodTemplate","metadata":{"name":"t","namespace":"default"},"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}`,
		`{"apiVersion":"v1","kind":"ReplicationController","metadata":{"name":"r","namespace":"default"},"spec":{}}`,
	} {
		_, err = c.Create(ctx, decode(t, text), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	require.Len(t, told, 2, "a ReplicationController has no template")
	require.Contains(t, told[0], `would violate PodSecurity "restricted:latest": allowPrivilegeEscalation != false`)

	patch := func(text string) error {
		_, err := c.Patch(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, types.NamespacedName{Namespace: "default", Name: "root"},
			types.StrategicMergePatchType, []byte(text), metav1.PatchOptions{})
		return err
	}
	require.NoError(t, patch(`{"metadata":{"labels":{"a":"b"}}}`), "only images of a Pod matter")
	require.True(t, apierrors.IsForbidden(patch(`{"spec":{"containers":[{"name":"c","image":"j"}]}}`)))
}
