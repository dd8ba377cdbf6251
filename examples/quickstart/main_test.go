package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var update = flag.Bool("update", false, "rewrite testdata/seed-1.txt")

// output runs the program to a good end.
func output(t testing.TB, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), args, &stdout, &stderr)
	require.Empty(t, stderr.String())
	require.Zero(t, code)
	return stdout.String()
}

// line is a row of the table.
type line struct {
	event, name, ready, status, restarts string
	age                                  int // seconds
}

func (l line) withoutAge() line { l.age = 0; return l }

func parseTable(t testing.TB, text string) (lines []line) {
	t.Helper()
	rows := strings.Split(strings.TrimSpace(text), "\n")
	require.Equal(t, []string{"EVENT", "NAME", "READY", "STATUS", "RESTARTS", "AGE"}, strings.Fields(rows[0]))
	for _, row := range rows[1:] {
		f := strings.Fields(row)
		age, err := strconv.Atoi(strings.TrimSuffix(f[len(f)-1], "s"))
		require.NoError(t, err, row)
		lines = append(lines, line{f[0], f[1], f[2], f[3], strings.Join(f[4:len(f)-1], " "), age})
	}
	return lines
}

// study is the table of the document, and what deleting the Job adds to it.
var study = []line{
	{event: "ADDED", ready: "0/1", status: "Pending", restarts: "0", age: 0},
	{event: "MODIFIED", ready: "0/1", status: "Pending", restarts: "0", age: 0},
	{event: "MODIFIED", ready: "0/1", status: "Pending", restarts: "0", age: 1},
	{event: "MODIFIED", ready: "0/1", status: "ContainerCreating", restarts: "0", age: 1},
	{event: "MODIFIED", ready: "1/1", status: "Running", restarts: "0", age: 11},
	{event: "MODIFIED", ready: "0/1", status: "Completed", restarts: "0", age: 22},
	{event: "MODIFIED", ready: "0/1", status: "Completed", restarts: "0", age: 23},
	{event: "MODIFIED", ready: "0/1", status: "Completed", restarts: "0", age: 27},
	{event: "DELETED", ready: "0/1", status: "Completed", restarts: "0", age: 30},
}

// requireStudy checks the rows, their order and STATUS as in the document, ages up to 2 seconds
// apart; the removal has up to 3.
func requireStudy(t testing.TB, lines []line) {
	t.Helper()
	require.Len(t, lines, len(study))
	for i, want := range study {
		want.name = lines[0].name
		tolerance := 2.0
		if want.event == "DELETED" {
			tolerance = 3
		}
		require.InDelta(t, want.age, lines[i].age, tolerance, "row %d", i)
		require.Equal(t, want.withoutAge(), lines[i].withoutAge(), "row %d", i)
	}
}

func TestTableIsThatOfTheStudy(t *testing.T) {
	requireStudy(t, parseTable(t, output(t)))
}

func TestGolden(t *testing.T) {
	const file = "testdata/seed-1.txt"
	got := output(t, "-seed", "1")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func FuzzSeed(f *testing.F) {
	for _, seed := range []uint64{0, 1, 2, 1 << 63} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		text := output(t, "-seed", strconv.FormatUint(seed, 10))
		lines := parseTable(t, text)
		requireStudy(t, lines)
		require.Regexp(t, `^nomcadkwok-cpu-job-short-0-[bcdfghjklmnpqrstvwxz2456789]{5}$`, lines[0].name)
		require.Equal(t, text, output(t, "-seed", strconv.FormatUint(seed, 10)), "the same seed prints the same")
	})
}

func TestAnotherSeedPrintsAnotherTable(t *testing.T) {
	one, two := output(t, "-seed", "1"), output(t, "-seed", "2")
	require.NotEqual(t, parseTable(t, one)[0].name, parseTable(t, two)[0].name)
}

func TestEveryJobHasTheSameLife(t *testing.T) {
	const jobs = 20
	byName := map[string][]line{}
	for _, l := range parseTable(t, output(t, "-jobs", strconv.Itoa(jobs))) {
		byName[l.name] = append(byName[l.name], l)
	}
	require.Len(t, byName, jobs)
	for name, lines := range byName {
		require.Len(t, lines, len(study), name)
		requireStudy(t, lines)
	}
}

func TestClusterIsEmptyAtTheEnd(t *testing.T) {
	c := newTestCluster(t, options{jobs: 3})
	require.NoError(t, c.run(t.Context(), options{length: time.Hour}))
	for _, kind := range []schema.GroupVersionKind{jobKind, podKind} {
		left, err := c.List(t.Context(), kind, "", metav1.ListOptions{})
		require.NoError(t, err)
		require.Empty(t, left.Items, kind.Kind)
	}
}

func newTestCluster(t *testing.T, o options) *cluster {
	t.Helper()
	c, err := newCluster(o, io.Discard, io.Discard)
	require.NoError(t, err)
	require.NoError(t, c.Load(t.Context(), nodeYAML))
	return c
}

func TestJobTellsHowItGoes(t *testing.T) {
	c := newTestCluster(t, options{jobs: 1})
	seen := map[time.Duration]job{}
	start := c.sim.Now()
	for _, after := range []time.Duration{15 * time.Second, 25 * time.Second} {
		c.sim.At(start.Add(after), func(ctx context.Context) error {
			obj, err := c.Get(ctx, jobKind, types.NamespacedName{Namespace: "default", Name: "nomcadkwok-cpu-job-short-0"})
			require.NoError(t, err)
			seen[after], err = decode[job](obj)
			return err
		})
	}
	require.NoError(t, c.run(t.Context(), options{length: time.Hour}))

	running := seen[15*time.Second].Status
	require.Equal(t, 1, running.Active)
	require.Empty(t, running.Conditions)
	complete := seen[25*time.Second].Status
	require.Zero(t, complete.Active)
	require.Equal(t, 1, complete.Succeeded)
	require.InDelta(t, 22, complete.CompletionTime.Sub(running.StartTime.Time).Seconds(), 1)
	require.True(t, isTrue(complete.Conditions, "Complete"))
}

func TestPodThatIsDeletedWhileItRunsIsReplaced(t *testing.T) {
	var out bytes.Buffer
	c, err := newCluster(options{jobs: 1}, &out, io.Discard)
	require.NoError(t, err)
	require.NoError(t, c.Load(t.Context(), nodeYAML))
	c.sim.At(c.sim.Now().Add(15*time.Second), func(ctx context.Context) error {
		pods, err := c.List(ctx, podKind, "", metav1.ListOptions{})
		require.NoError(t, err)
		return c.Delete(ctx, podKind, nameOf(&pods.Items[0]), metav1.DeleteOptions{})
	})
	require.NoError(t, c.run(t.Context(), options{length: time.Hour}))

	byName := map[string][]line{}
	lines := parseTable(t, out.String())
	for _, l := range lines {
		byName[l.name] = append(byName[l.name], l)
	}
	require.Len(t, byName, 2)
	first := byName[lines[0].name]
	require.Equal(t, []string{"Pending", "Pending", "Pending", "ContainerCreating", "Running", "Terminating", "Terminating", "Terminating", "Terminating", "Terminating"}, statuses(first))
	require.Equal(t, "DELETED", first[len(first)-1].event, "pod-delete ends the grace period")
	delete(byName, lines[0].name)
	for _, second := range byName {
		requireStudy(t, second)
	}
}

func statuses(lines []line) (s []string) {
	for _, l := range lines {
		s = append(s, l.status)
	}
	return s
}

func TestStagesOfTheUser(t *testing.T) {
	text := output(t, "-stages", "testdata/crash.yaml")
	rows := strings.Split(text, "\n")
	require.Contains(t, rows[3], "CrashLoopBackOff   1 (0s ago)   3s")
	require.Contains(t, rows[4], "CrashLoopBackOff   2 (0s ago)   6s")
	require.Contains(t, rows[5], "Evicted            0            66s")
	require.NotContains(t, text, "Running", "ours are not played")
	require.Equal(t, mostFailures+1, strings.Count(text, "ADDED"), "the Job gives up")
}

func TestExtensions(t *testing.T) {
	text, err := os.ReadFile("testdata/crash.yaml")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "stages.yaml")
	extended := bytes.Replace(text, []byte("metadata:\n"), []byte("metadata:\n  annotations: {stagecraft-go.github.io/delay: 'offset: 1m'}\n"), 1)
	require.NoError(t, os.WriteFile(file, extended, 0o600))
	var stdout, stderr bytes.Buffer
	require.Equal(t, 1, run(t.Context(), []string{"-stages", file}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "an extension, which kwok does not have")
	require.Contains(t, output(t, "-stages", file, "-extensions"), "CrashLoopBackOff   1 (0s ago)   63s")
}

func TestStagesOfTheStudyPrintTheSame(t *testing.T) {
	require.Equal(t, output(t, "-jobs", "5"), output(t, "-jobs", "5", "-stages", conformance(t, "wild-mcad")))
}

// TestEmptyListOfFinalizersHoldsNoPod plays Stages that let every Pod run again, which an API server
// forbids that of a Job: it stays Completed until it is deleted.
func TestEmptyListOfFinalizersHoldsNoPod(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"-stages", conformance(t, "wild-kperf")}, &stdout, &stderr))
	require.Regexp(t, `^failed Pod .* pod-ready .*: may not be transitioned to non-terminated state\n$`, stderr.String())
	rows := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	require.Regexp(t, `^DELETED .* Completed `, rows[len(rows)-1])
}

// conformance is where Stages of others are.
func conformance(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("../../../shared/conformance/stage", name, "stages")
	if _, err := os.Stat(path); err != nil {
		t.Skip("no conformance data: ", err)
	}
	return path
}

func TestFaultsAreReportedWithTheirPlaces(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Equal(t, 1, run(t.Context(), []string{"-stages", "testdata/faulty.yaml"}, &stdout, &stderr))
	require.Empty(t, stdout.String())
	require.Regexp(t, `testdata/faulty.yaml:9:25: stage "faulty": spec.selector.matchExpressions\[0\].cel.expression: .*slf`, stderr.String())
	require.Regexp(t, `testdata/faulty.yaml:12:21: stage "faulty": .*Nwo`, stderr.String())
}

func TestBadInvocations(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		code int
		says string
	}{
		"a missing file":        {[]string{"-stages", "testdata/none.yaml"}, 1, "none.yaml"},
		"a negative speed":      {[]string{"-speed", "-1"}, 2, "Usage"},
		"a speed that is none":  {[]string{"-speed", "nan"}, 2, "Usage"},
		"fewer jobs than none":  {[]string{"-jobs", "-1"}, 2, "Usage"},
		"an argument":           {[]string{"stages.yaml"}, 2, "Usage"},
		"a flag there is not":   {[]string{"-sed", "1"}, 2, "-sed"},
		"a call for help":       {[]string{"-h"}, 0, "Usage"},
		"no time for the Nodes": {[]string{"-for", "-1s"}, 1, "no Node has become Ready"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, tt.code, run(t.Context(), tt.args, &stdout, &stderr))
			require.Contains(t, stderr.String(), tt.says)
			require.Empty(t, stdout.String())
		})
	}
}

func TestSpeedPacesTheTable(t *testing.T) {
	for _, speed := range []float64{1, 10} {
		t.Run(fmt.Sprint(speed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				text := output(t, "-speed", fmt.Sprint(speed))
				lines := parseTable(t, text)
				last := lines[len(lines)-1].age
				require.InDelta(t, float64(last)/speed, time.Since(begin).Seconds(), 1/speed)
				require.Equal(t, output(t), text, "the speed changes nothing else")
			})
		})
	}
}

func TestAnInterruptEndsCleanly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(15*time.Second, cancel)
		begin := time.Now()
		var stdout, stderr bytes.Buffer
		require.Zero(t, run(ctx, []string{"-speed", "1"}, &stdout, &stderr))
		require.Equal(t, 15*time.Second, time.Since(begin))
		require.Empty(t, stderr.String())
		require.Contains(t, stdout.String(), "Running")
		require.NotContains(t, stdout.String(), "Completed")
	})
}

func BenchmarkQuickstart(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		output(b)
	}
}
