package labtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// TestWhatOthersDoWhileTimePassesIsSeen: a goroutine, such as a manager that looks again after a while, applies a Pod
// while nothing is due in the lab. It runs soon after, not when the lab is told to look.
func TestWhatOthersDoWhileTimePassesIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		lab := labtest.New(t, labtest.Options{Start: begin, Sync: func(d time.Duration) { time.Sleep(d); synctest.Wait() }})
		lab.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: first}, spec: {containers: [{name: c, image: i}]}}`)
		lab.Advance(time.Minute)
		go func() {
			time.Sleep(100 * time.Second)
			second := lab.Get("v1", "Pod", "default/first").DeepCopy()
			second.Object = map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "second", "namespace": "default"}, "spec": second.Object["spec"]}
			delete(second.Object["spec"].(map[string]any), "nodeName")
			_, err := lab.Cluster().Create(t.Context(), second, metav1.CreateOptions{})
			require.NoError(t, err)
		}()
		lab.Advance(30 * time.Minute)
		require.Equal(t, 31*time.Minute, time.Since(begin), "the clocks of the lab and of the goroutine are one")
		require.Equal(t, begin.Add(31*time.Minute), lab.Now())
		pod, err := lab.Cluster().Get(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, types.NamespacedName{Namespace: "default", Name: "second"})
		require.NoError(t, err)
		started, err := time.Parse(time.RFC3339, pod.Object["status"].(map[string]any)["startTime"].(string))
		require.NoError(t, err)
		require.WithinDuration(t, begin.Add(160*time.Second), started, 2*time.Second)
	})
}
