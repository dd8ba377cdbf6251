package measure

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRequestsAreCountedByVerb(t *testing.T) {
	r, err := parseRequests([]byte(`# HELP apiserver_request_total Counter
apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="status",verb="PATCH",version="v1"} 5000
apiserver_request_total{code="422",component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="status",verb="PATCH",version="v1"} 1e+01
apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="nodes",scope="resource",subresource="status",verb="PATCH",version="v1"} 7
apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="pods",scope="namespace",subresource="",verb="DELETE",version="v1"} 1
apiserver_request_total{code="404",component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="",verb="DELETE",version="v1"} 3
`))
	require.NoError(t, err)
	require.Equal(t, Requests{"PATCH": 5010, "DELETE": 3}, r)
	require.Equal(t, Requests{"PATCH": 10, "DELETE": 3}, r.Since(Requests{"PATCH": 5000}))
}

func TestAProcessIsMeasured(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	before, _, err := Machine()
	require.NoError(t, err)
	p, err := Start(log, "sh", "-c", "echo begun; while true; do :; done")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		u, err := p.Usage()
		return err == nil && u.CPU >= 2*tick && u.RSS > 0 && u.Peak >= u.RSS
	}, 10*time.Second, 10*time.Millisecond)
	all, own, err := Machine()
	require.NoError(t, err)
	require.GreaterOrEqual(t, all-before, 2*tick)
	require.GreaterOrEqual(t, own, 2*tick, "children count")
	require.NoError(t, p.Stop())
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, "begun\n", string(text))
}

func TestAProcessThatEndsByItselfIsAnError(t *testing.T) {
	p, err := Start(filepath.Join(t.TempDir(), "log"), "false")
	require.NoError(t, err)
	err = <-p.ended
	p.ended <- err
	require.ErrorContains(t, p.Stop(), "ended by itself")
}
