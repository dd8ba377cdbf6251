package wait_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
)

// TestReporterKeepsTheLineOfEachObject draws all objects in place, and says which one holds the wait
// up.
func TestReporterKeepsTheLineOfEachObject(t *testing.T) {
	var out bytes.Buffer
	r := &wait.Reporter{Out: &out, Terminal: true, All: true, Columns: 100}
	c := collector(t, []wait.Ref{web, config, secret}, wait.Policy{})
	var screens []string
	for _, s := range []wait.State{
		at(0, web, kstatus.InProgress.Because("PodPending", "waits")),
		at(1, config, kstatus.Current.Because("", "")),
		at(2, secret, kstatus.Failed.Because("Broken", "")),
		at(9, secret, kstatus.Current.Because("", "")),
		at(10, web, kstatus.Current.Because("", "Pod is Ready")),
	} {
		c.Add(s)
		out.Reset()
		r.Report(c, s)
		_, screen, redrawn := strings.Cut(out.String(), "\x1b[J")
		if !redrawn {
			screen = out.String()
		}
		screens = append(screens, screen)
	}
	require.Equal(t, "0 of 3 done, 1 in progress, 2 not seen; waiting for Pod default/web\n"+
		"· Pod default/web: InProgress, PodPending: waits\n· ConfigMap default/config: NotSeen: Not looked for yet\n· Secret default/secret: NotSeen: Not looked for yet\n", screens[0])
	require.Equal(t, "1 of 3 done, 1 in progress, 1 failed; waiting for Secret default/secret\n"+
		"· Pod default/web: InProgress for 2s, PodPending: waits\n✓ ConfigMap default/config: Current for 1s\n✗ Secret default/secret: Failed, Broken\n", screens[2])
	require.Equal(t, "2 of 3 done, 1 in progress; waiting for Pod default/web, InProgress for 9s\n"+
		"· Pod default/web: InProgress for 9s, PodPending: waits\n✓ ConfigMap default/config: Current for 8s\n✓ Secret default/secret: Current\n", screens[3])
	require.True(t, strings.HasPrefix(screens[4], "3 of 3 done\n✓ Pod default/web: Current: Pod is Ready\n"), screens[4])
}

func TestSummaryNamesTheCulpritFirst(t *testing.T) {
	c := collector(t, []wait.Ref{web, config, secret}, wait.Policy{})
	c.Add(at(0, web, kstatus.InProgress.Because("PodPending", "waits")))
	c.Add(at(3, config, kstatus.Failed.Because("Broken", "no")))
	c.Add(at(1, secret, kstatus.Current.Because("", "")))
	end := noon.Add(10 * time.Second)
	require.Equal(t, "held up by ConfigMap default/config: Failed for 7s, Broken: no\n"+
		"  also Pod default/web: InProgress for 10s, PodPending: waits\n1 of 3 done, 1 in progress, 1 failed", c.Summary(end))
	c.Add(at(4, config, kstatus.Current.Because("", "")))
	culprit, found := c.Culprit()
	require.True(t, found)
	require.Equal(t, web, culprit.Ref)
	c.Add(at(5, web, kstatus.Current.Because("", "")))
	require.Equal(t, "3 of 3 done", c.Summary(end))
	_, found = c.Culprit()
	require.False(t, found)
}
