package apiserver_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// TestLimitsOfJSONPatches: a JSON patch with too many operations, and one whose copies double the object
// again and again, are refused before they take memory, for each kind of path that takes patches.
func TestLimitsOfJSONPatches(t *testing.T) {
	cluster := memory.New(memory.Options{})
	require.NoError(t, cluster.Load(t.Context(), []byte(`
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default}, data: {a: `+strings.Repeat("x", 1000)+`}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: c, namespace: default}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: i}]}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: c, namespace: default}
spec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: c, apiVersion: apps/v1}}
`)))
	c := kubernetes.NewForConfigOrDie(apiserver.Start(t, cluster, apiserver.Options{}))
	copies := func(field string, n int) string {
		var steps []string
		for i := range n {
			steps = append(steps, fmt.Sprintf(`{"op":"copy","from":"/%s","path":"/%s/k%d"}`, field, field, i))
		}
		return "[" + strings.Join(steps, ",") + "]"
	}
	for field, path := range map[string]string{
		"data":     "/api/v1/namespaces/default/configmaps/c",
		"metadata": "/apis/apps/v1/namespaces/default/deployments/c/scale",
		"spec":     "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers/c",
	} {
		patch := func(body string) error {
			return c.CoreV1().RESTClient().Patch(types.JSONPatchType).AbsPath(path).Body([]byte(body)).Do(t.Context()).Error()
		}
		step := `,{"op":"test","path":"/kind","value":"x"}`
		err := patch("[" + strings.Repeat(step, 10_001)[1:] + "]")
		require.True(t, apierrors.IsRequestEntityTooLargeError(err), "%s: %v", path, err)
		require.ErrorContains(t, err, "The allowed maximum operations in a JSON patch is 10000, got 10001")

		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err = patch(copies(field, 19))
		runtime.ReadMemStats(&after)
		require.Error(t, err, path)
		require.Equal(t, http.StatusUnprocessableEntity, int(err.(apierrors.APIStatus).Status().Code)) //nolint:errorlint // it is one
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20), path)
	}
	_, err := c.CoreV1().ConfigMaps("default").Patch(t.Context(), "none", types.JSONPatchType, []byte("["+strings.Repeat(`{},`, 10_001)+"{}]"), metav1.PatchOptions{})
	require.True(t, apierrors.IsNotFound(err), err)
}
