package memory_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/yaml"
)

const many = 100_000

// typical is a Pod as a scheduler leaves it.
func typical(t testing.TB, i int) *unstructured.Unstructured {
	var u unstructured.Unstructured
	require.NoError(t, yaml.Unmarshal([]byte(`
apiVersion: v1
kind: Pod
metadata: {namespace: default, labels: {app: web, tier: front}, annotations: {note: none}}
spec:
  nodeName: node-1
  restartPolicy: Always
  containers:
  - {name: web, image: nginx, ports: [{containerPort: 80}], resources: {requests: {cpu: 100m, memory: 64Mi}}}
  - {name: side, image: envoy}
  tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists}]
`), &u))
	u.SetName(fmt.Sprintf("pod-%06d", i))
	return &u
}

func filled(t testing.TB, n int) *memory.Cluster {
	c := memory.New(memory.Options{}).Shared()
	u := typical(t, 0)
	for i := range n {
		u.SetName(fmt.Sprintf("pod-%06d", i))
		_, err := c.Create(t.Context(), u, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	return c
}

func BenchmarkCreate(b *testing.B) {
	c := memory.New(memory.Options{}).Shared()
	u := typical(b, 0)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		u.SetName(fmt.Sprintf("pod-%09d", i))
		if _, err := c.Create(b.Context(), u, metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPatchStatus(b *testing.B) {
	for _, t := range []types.PatchType{types.MergePatchType, types.StrategicMergePatchType} {
		b.Run(string(t), func(b *testing.B) {
			c := filled(b, 1000)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				body := fmt.Sprintf(`{"status":{"phase":"Running","podIP":"10.0.0.1","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"%d"}]}}`, i)
				if _, err := c.Patch(b.Context(), pods, at(fmt.Sprintf("pod-%06d", i%1000)), t, []byte(body), metav1.PatchOptions{}, "status"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkList100k(b *testing.B) {
	shared := filled(b, many)
	for name, o := range map[string]metav1.ListOptions{
		"all": {}, "by label": {LabelSelector: "app=db"}, "by node": {FieldSelector: "spec.nodeName=node-2"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := shared.List(b.Context(), pods, "", o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWatchFanOut is one status patch that ten watches see.
func BenchmarkWatchFanOut(b *testing.B) {
	c := filled(b, 1000)
	done := make(chan int)
	for range 10 {
		w, err := c.Watch(b.Context(), pods, "", metav1.ListOptions{SendInitialEvents: new(false)})
		require.NoError(b, err)
		go func() {
			n := 0
			for range w.ResultChan() {
				n++
			}
			done <- n
		}()
		defer func() { w.Stop(); <-done }()
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		body := fmt.Sprintf(`{"status":{"observed":%d}}`, i)
		if _, err := c.Patch(b.Context(), pods, at(fmt.Sprintf("pod-%06d", i%1000)), types.MergePatchType, []byte(body), metav1.PatchOptions{}, "status"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHundredThousandPods creates and patches them before two watchers.
func BenchmarkHundredThousandPods(b *testing.B) {
	for b.Loop() {
		before := heap()
		c := memory.New(memory.Options{}).Shared()
		seen := make(chan struct{})
		for range 2 {
			w, err := c.Watch(b.Context(), pods, "", metav1.ListOptions{})
			require.NoError(b, err)
			go count(w, 2*many, seen)
		}
		lifetime(b, c)
		<-seen
		<-seen
		b.ReportMetric(float64(heap()-before)/many, "B/pod")
		runtime.KeepAlive(c)
	}
}

func lifetime(b *testing.B, c *memory.Cluster) {
	u := typical(b, 0)
	for i := range many {
		u.SetName(fmt.Sprintf("pod-%06d", i))
		_, err := c.Create(b.Context(), u, metav1.CreateOptions{})
		require.NoError(b, err)
	}
	body := []byte(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`)
	for i := range many {
		_, err := c.Patch(b.Context(), pods, at(fmt.Sprintf("pod-%06d", i)), types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
		require.NoError(b, err)
	}
}

func count(w watch.Interface, n int, seen chan<- struct{}) {
	defer w.Stop()
	for range n {
		<-w.ResultChan()
	}
	seen <- struct{}{}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
