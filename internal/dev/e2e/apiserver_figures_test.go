package e2e_test

import (
	"flag"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
	"github.com/stagecraft-go/stagecraft/stage/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var figures = flag.Bool("figures", false, "measure the server in memory beside etcd and kube-apiserver")

// TestStartFigures measures the time from the start to the first answered request, the middle one of
// several starts: make apiserver-figures.
func TestStartFigures(t *testing.T) {
	if !*figures {
		t.Skip("make apiserver-figures")
	}
	inMemory := middle(t, 21, func(t *testing.T) (*rest.Config, func()) {
		return apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{}), func() {}
	})
	loopback := middle(t, 21, func(t *testing.T) (*rest.Config, func()) {
		l, err := apiserver.Listen(memory.New(memory.Options{}), apiserver.ListenOptions{})
		require.NoError(t, err)
		return l.Config(), func() { require.NoError(t, l.Close()) }
	})
	theirs := middle(t, 3, func(t *testing.T) (*rest.Config, func()) {
		p, err := controlplane.Start(filepath.Dir(plane.Program("etcd")))
		require.NoError(t, err)
		return p.Config(), func() { require.NoError(t, p.Stop()) }
	})
	t.Logf("start to first answered request: in memory %s, loopback %s, etcd and kube-apiserver %s: ratios %.0f and %.0f",
		inMemory, loopback, theirs, theirs.Seconds()/inMemory.Seconds(), theirs.Seconds()/loopback.Seconds())
}

// middle returns the middle time of n starts.
func middle(t *testing.T, n int, start func(*testing.T) (*rest.Config, func())) time.Duration {
	times := make([]time.Duration, 0, n)
	for range n {
		t.Run("start", func(t *testing.T) {
			begin := time.Now()
			config, stop := start(t)
			defer stop()
			_, err := kubernetes.NewForConfigOrDie(config).CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{})
			require.NoError(t, err)
			times = append(times, time.Since(begin))
		})
	}
	slices.Sort(times)
	return times[n/2]
}
