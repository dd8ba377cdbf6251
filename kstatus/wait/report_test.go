package wait_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func at(seconds int, ref wait.Ref, r kstatus.Result) wait.State {
	now := noon.Add(time.Duration(seconds) * time.Second)
	return wait.State{Ref: ref, Result: r, Since: now, Time: now}
}

// report plays some changes to a Reporter.
func report(t *testing.T, r *wait.Reporter) {
	c := collector(t, []wait.Ref{web, config, secret}, wait.Policy{})
	for _, s := range []wait.State{
		at(0, web, kstatus.InProgress.Because("PodPending", "it\nwaits \x1b[31mfor a very long time, for reasons that no line of a terminal can hold")),
		at(0, config, kstatus.Current.Because("", "")),
		at(2, secret, kstatus.Failed.Because("Broken", "")),
		at(5, config, kstatus.Current.Because("", "")),
		at(9, web, kstatus.Current.Because("", "Pod is Ready")),
		at(10, secret, kstatus.Current.Because("", "")),
	} {
		c.Add(s)
		r.Report(c, s)
	}
}

func TestReporterPrintsLines(t *testing.T) {
	var out bytes.Buffer
	report(t, wait.NewReporter(&out))
	require.Equal(t, `12:00:00 Pod default/web: InProgress, PodPending: it waits  [31mfor a very long time, for reasons that no line of a terminal can hold (0 of 3 done, 1 in progress, 2 not seen)
12:00:00 ConfigMap default/config: Current (1 of 3 done, 1 in progress, 1 not seen)
12:00:02 Secret default/secret: Failed, Broken (1 of 3 done, 1 in progress, 1 failed)
12:00:05 ConfigMap default/config: Current (1 of 3 done, 1 in progress, 1 failed)
12:00:09 Pod default/web: Current: Pod is Ready (2 of 3 done, 1 failed)
12:00:10 Secret default/secret: Current (3 of 3 done)
`, out.String())
}

func TestReporterRedraws(t *testing.T) {
	var out bytes.Buffer
	report(t, &wait.Reporter{Out: &out, Terminal: true, Rows: 1})
	const up2, up3 = "\x1b[2A\x1b[J", "\x1b[3A\x1b[J"
	require.Equal(t, `0 of 3 done, 1 in progress, 2 not seen
  Pod default/web: InProgress, PodPending: it waits  [31mfor a very long time,…
  and 2 more
`+up3+`1 of 3 done, 1 in progress, 1 failed
  Pod default/web: InProgress for 2s, PodPending: it waits  [31mfor a very lon…
  and 1 more
`+up3+`1 of 3 done, 1 in progress, 1 failed
  Pod default/web: InProgress for 5s, PodPending: it waits  [31mfor a very lon…
  and 1 more
`+up3+`2 of 3 done, 1 failed
  Secret default/secret: Failed for 7s, Broken
`+up2+`3 of 3 done
`, out.String())
}
