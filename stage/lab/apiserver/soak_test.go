package apiserver_test

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

var soakPods = flag.Int("soak", 0, "let so many Pods come and go in TestPodsThatComeAndGoLeaveNothing")

// A crowd is so many Pods that come together, run, and go together.
const crowd = 500

// TestPodsThatComeAndGoLeaveNothing lets Pods come, run and go over HTTP, with a lab behind the server. Memory may grow until the
// history of the cluster is full, and then no more. `make server-soak` lets 100,000 come and go.
func TestPodsThatComeAndGoLeaveNothing(t *testing.T) {
	if *soakPods == 0 {
		t.Skip("a long run: make server-soak, or -soak N")
	}
	lab := labtest.New(t, labtest.Options{Start: time.Now(), Nodes: 10})
	config, end := listening(t, lab)
	defer end()
	client := kubernetes.NewForConfigOrDie(config)
	before := liveHeap()
	var full uint64 // the heap after three tenths, when the history is full
	for n := 0; n < *soakPods; n += crowd {
		comeAndGo(t, client)
		switch done := n + crowd; {
		case full == 0 && done >= *soakPods*3/10:
			full = liveHeap()
			t.Logf("%d MiB before, %d after %d Pods", before>>20, full>>20, done)
		case done >= *soakPods || done%10_000 == 0:
			t.Logf("%d MiB after %d Pods", liveHeap()>>20, done)
		}
	}
	require.LessOrEqual(t, liveHeap(), full+full/10)
}

// listening lets a lab follow the clock a hundred times as fast, behind a listener.
func listening(t *testing.T, lab *labtest.Lab) (*rest.Config, func()) {
	l, err := apiserver.Listen(lab.Cluster(), apiserver.ListenOptions{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- lab.Simulation().Follow(ctx, 100) }()
	config := l.Config()
	config.QPS = -1
	return config, func() {
		cancel()
		require.NoError(t, <-ended)
		require.NoError(t, l.Close())
	}
}

// comeAndGo creates Pods from several clients, waits until all run, deletes them, and waits until none is left.
func comeAndGo(t *testing.T, client kubernetes.Interface) {
	pods := client.CoreV1().Pods("default")
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := worker; i < crowd; i += 4 {
				_, err := pods.Create(t.Context(), podNamed(fmt.Sprintf("p%d", i)), metav1.CreateOptions{})
				require.NoError(t, err)
			}
		})
	}
	all.Wait()
	has := func(o metav1.ListOptions) bool {
		list, err := pods.List(t.Context(), o)
		require.NoError(t, err)
		return len(list.Items) > 0
	}
	require.Eventually(t, func() bool { return !has(metav1.ListOptions{FieldSelector: "status.phase!=Running", Limit: 1}) }, time.Minute, 20*time.Millisecond)
	require.NoError(t, pods.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	require.Eventually(t, func() bool { return !has(metav1.ListOptions{Limit: 1}) }, time.Minute, 20*time.Millisecond)
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
