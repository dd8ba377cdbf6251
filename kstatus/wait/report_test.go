package wait_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage/memory"
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
	require.Equal(t, `12:00:00 Pod default/web: InProgress, PodPending: it\nwaits \x1b[31mfor a very long time, for reasons that no line of a terminal can hold (0 of 3 done, 1 in progress, 2 not seen)
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
  Pod default/web: InProgress, PodPending: it\nwaits \x1b[31mfor a very long t…
  and 2 more
`+up3+`1 of 3 done, 1 in progress, 1 failed
  Pod default/web: InProgress for 2s, PodPending: it\nwaits \x1b[31mfor a very…
  and 1 more
`+up3+`1 of 3 done, 1 in progress, 1 failed
  Pod default/web: InProgress for 5s, PodPending: it\nwaits \x1b[31mfor a very…
  and 1 more
`+up3+`2 of 3 done, 1 failed
  Secret default/secret: Failed for 7s, Broken
`+up2+`3 of 3 done
`, out.String())
}

// terminal keeps what is written to it, with the time.
type terminal struct{ log strings.Builder }

func (w *terminal) Write(text []byte) (int, error) {
	text = bytes.ReplaceAll(text, []byte("\x1b["), []byte("^"))
	fmt.Fprintf(&w.log, "-- %s --\n%s", time.Now().UTC().Format("05.000"), text)
	return len(text), nil
}

// reported is what a Reporter writes of a Deployment that is there and a ConfigMap that comes
// later.
func reported(t *testing.T, r wait.Reporter, later time.Duration) (text string) {
	synctest.Test(t, func(t *testing.T) {
		w := world{t, memory.New(memory.Options{})}
		w.create(manifest(web, "status: "+podUnready), manifest(secret, ""))
		time.AfterFunc(later, func() { w.create(manifest(config, "")) })
		ctx, cancel := context.WithTimeout(t.Context(), later+500*time.Millisecond)
		defer cancel()
		out := &terminal{}
		r.Out = out
		require.Error(t, wait.For(ctx, w.Cluster, []wait.Ref{web, config}, wait.Policy{Report: &r}))
		text = out.log.String()
	})
	return text
}

// On a terminal nothing is withheld for longer than a moment, and times move on.
func TestReporterKeepsATerminalUpToDate(t *testing.T) {
	text := reported(t, wait.Reporter{Terminal: true, Columns: 50}, 1500*time.Millisecond)
	_, text, _ = strings.Cut(text, "-- 00.100 --\n")
	require.Equal(t, `^3A^J0 of 2 done, 1 in progress, 1 not found
  Pod default/web: InProgress, PodRunningNotRead…
  ConfigMap default/config: NotFound: Resource n…
-- 01.100 --
^3A^J0 of 2 done, 1 in progress, 1 not found
  Pod default/web: InProgress for 1s, PodRunning…
  ConfigMap default/config: NotFound for 1s: Res…
-- 01.500 --
^3A^J1 of 2 done, 1 in progress
  Pod default/web: InProgress for 2s, PodRunning…
`, text)
}

// In CI a long silence would look like the end.
func TestReporterBreaksTheSilence(t *testing.T) {
	text := reported(t, wait.Reporter{}, 150*time.Second)
	_, text, _ = strings.Cut(text, "\n00:01:00 ")
	require.Equal(t, `Pod default/web: InProgress for 1m0s, PodRunningNotReady: Pod is running but is not Ready (0 of 2 done, 1 in progress, 1 not found)
-- 00.000 --
00:02:00 Pod default/web: InProgress for 2m0s, PodRunningNotReady: Pod is running but is not Ready (0 of 2 done, 1 in progress, 1 not found)
-- 30.000 --
00:02:30 ConfigMap default/config: Current: Resource is always ready (1 of 2 done, 1 in progress)
`, text)
}

func TestReporterOfGoals(t *testing.T) {
	var out bytes.Buffer
	c := collector(t, []wait.Ref{web, job}, wait.Policy{Goals: map[wait.Ref]wait.Goal{web: {Status: kstatus.NotFound}}})
	held := kstatus.Current.Because("JobSuspended", "Job is suspended")
	held.Suspended = true
	for _, s := range []wait.State{at(0, web, kstatus.Current.Because("", "Pod is Ready")), at(1, job, held), at(3, web, kstatus.NotFound.Because("", ""))} {
		c.Add(s)
	}
	r := wait.NewReporter(&out)
	for s := range c.States() {
		r.Report(c, s)
	}
	require.Equal(t, `12:00:03 Pod default/web: NotFound (1 of 2 done, 1 current)
12:00:01 Job.batch default/job: Current (suspended), JobSuspended: Job is suspended (1 of 2 done, 1 current)
`, out.String())
}
