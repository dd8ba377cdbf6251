package policies

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/oracle/client"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	// Their backoff sleeps until the real time of the last error, which in a bubble is decades ahead.
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}

// playTheirs plays a scenario with the controllers of kube-controller-manager.
func playTheirs(t *testing.T, s scenario) []string {
	return play(t, s, func(w *world, all *sync.WaitGroup) {
		cs, err := kubernetes.NewForConfig(client.Config(w.cluster, client.Options{Create: w.create, Pause: time.Microsecond}))
		require.NoError(t, err)
		f := informers.NewSharedInformerFactory(cs, 0)
		start, err := s.theirs(*w, cs, f)
		require.NoError(t, err)
		f.Start(w.ctx.Done())
		f.WaitForCacheSync(w.ctx.Done())
		for _, run := range start {
			all.Go(run)
		}
		all.Go(func() {
			<-w.ctx.Done()
			f.Shutdown()
		})
	})
}
