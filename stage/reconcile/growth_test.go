package reconcile_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/internal/dev/race"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// A hundred thousand Pods come and go, one each second, and a controller records an Event of each.
// Neither the recorder nor the cluster remembers them: Events stay for an hour.
func TestAHundredThousandPodsComeAndGo(t *testing.T) {
	if race.On {
		t.Skip("it measures memory")
	}
	pods := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	now := start
	cluster := memory.New(memory.Options{Now: func() time.Time { return now }, History: 1000})
	loop := reconcile.NewLoop(cluster.Share(), reconcile.Options{Events: true}, reconcile.Controller{Name: "c", For: pods,
		Reconcile: func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
			if pod := r.Cache.Get(pods, r.Name); pod != nil {
				r.Record(pod, "Normal", "Seen", "seen "+pod.GetName())
			}
			return reconcile.Result{}, nil
		},
	})
	feed, err := cluster.Shared().Feed(pods, "", metav1.ListOptions{})
	require.NoError(t, err)
	step := func() {
		for e, ok := feed.Next(); ok; e, ok = feed.Next() {
			loop.Observe(e, now)
		}
		for loop.Step(t.Context(), now) {
			continue
		}
	}
	comeAndGo := func(from, to int) {
		for i := from; i < to; i++ {
			now = now.Add(time.Second)
			name := types.NamespacedName{Namespace: "x", Name: fmt.Sprint("pod-", i)}
			_, err := cluster.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"namespace": name.Namespace, "name": name.Name},
			}}, metav1.CreateOptions{})
			require.NoError(t, err)
			step()
			require.NoError(t, cluster.Delete(t.Context(), pods, name, metav1.DeleteOptions{}))
			step()
		}
	}
	comeAndGo(0, 20_000)
	before := heapInUse()
	comeAndGo(20_000, 20_000+effort.Of(100_000))
	require.Less(t, int64(heapInUse())-int64(before), int64(4<<20))
	require.Len(t, events(t, cluster), 3601)
	runtime.KeepAlive(loop)
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
