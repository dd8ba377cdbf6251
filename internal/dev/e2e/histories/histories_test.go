package histories

import (
	"flag"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/runtime"

	"github.com/stagecraft-go/stagecraft/internal/dev/faults"
	"github.com/stagecraft-go/stagecraft/internal/dev/histories"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

var (
	count = flag.Int("histories", 60, "how many histories to play")
	from  = flag.Uint64("from", 0, "seed of the first")
	only  = flag.String("only", "", "the faults that may strike, with commas between; empty: the seed chooses")
)

// TestHistories plays random histories over HTTP and client-go. Run returns within the timeout of one request.
func TestHistories(t *testing.T) {
	o := histories.Options{Reach: reach}
	if *only != "" {
		o.Only = strings.Split(*only, ",")
	}
	for i := range *count {
		o.Seed = *from + uint64(i)
		if testing.Verbose() {
			o.Trace = func(e stage.TraceEvent) { t.Logf("%s %.300s", e.Time.Format("04:05.000"), e) }
		}
		require.Empty(t, histories.Play(t, o), "seed %d", o.Seed)
	}
}

// TestMain removes the handlers of apimachinery for errors of discovery, which wait until a moment that another bubble has set.
func TestMain(m *testing.M) {
	runtime.ErrorHandlers = nil
	m.Run()
}

func reach(t *testing.T, c *memory.Cluster, dice *faults.Dice) (transport.Transport, time.Duration) {
	config := apiserver.Start(t, c, apiserver.Options{Bare: true})
	config.QPS = -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &network{next: next, dice: dice} })
	cluster, err := kube.NewForConfig(config)
	require.NoError(t, err)
	return cluster, histories.RequestTimeout
}
