package main

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/expect"
	"github.com/stagecraft-go/stagecraft/stage/lab/progress"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
)

// simulate runs the command with its flags in one string.
func simulate(t *testing.T, flags string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), strings.Fields(flags), &out, &errs)
	return code, out.String(), errs.String()
}

// cells are the numbers of a row of a table.
func cells(t *testing.T, table, row string) (numbers []float64) {
	t.Helper()
	for line := range strings.Lines(table) {
		rest, found := strings.CutPrefix(strings.TrimSpace(line), row+" ")
		if !found {
			continue
		}
		for _, word := range strings.Fields(rest) {
			v, err := strconv.ParseFloat(word, 64)
			require.NoError(t, err, line)
			numbers = append(numbers, v)
		}
		return numbers
	}
	t.Fatalf("there is no row %q in\n%s", row, table)
	return nil
}

// TestSmallJobsAreAsMeasured checks the measurements of the study. The row of kwok is within a
// second, and its slope from 20 Jobs on within 7 %; the row of MCAD is within a tenth. One cell of
// the row of kwok is NOT reached: 75 Jobs took 36 s and take 34 or 35 s here, as with the real
// controller (34.0 s, before the script looks). The rate limit decides the slope and is not fitted.
// That kubectl takes 100 ms and that seconds are rounded was chosen with the row in view, and moves
// cells by up to a second.
func TestSmallJobsAreAsMeasured(t *testing.T) {
	for seed := range 4 {
		code, out, errs := simulate(t, "-study small-jobs -seeds 1 -seed "+strconv.Itoa(seed))
		require.Zero(t, code, errs)
		require.Equal(t, []float64{23, 23, 27, 33, 41, 49}, cells(t, out, "kind, measured"))
		kwok, mcad := cells(t, out, "kwok, simulated"), cells(t, out, "kwok+MCAD, simulated")
		require.Len(t, kwok, 6)
		require.Len(t, mcad, 6)
		for i, want := range cells(t, out, "kwok, measured") {
			within := 1.0
			if want == 36 {
				within = 2 // not reached
			}
			require.InDelta(t, want, kwok[i], within, "seed %d\n%s", seed, out)
		}
		require.InEpsilon(t, 40.0-25, kwok[5]-kwok[2], 0.07, "the rate limit of the controller manager: seed %d\n%s", seed, out)
		for i, want := range cells(t, out, "kwok+MCAD, measured") {
			require.InEpsilon(t, want, mcad[i], 0.1, "seed %d\n%s", seed, out)
		}
	}
}

// TestTheDispatcherIsFittedToFourCells: the others are predictions, and the report says which.
func TestTheDispatcherIsFittedToFourCells(t *testing.T) {
	require.Equal(t, 1226*time.Millisecond, dispatchTime())
	code, out, errs := simulate(t, "-study small-jobs -jobs 1,75,100 -seeds 3")
	require.Zero(t, code, errs)
	mcad := cells(t, out, "kwok+MCAD, simulated")
	require.InDelta(t, 114, mcad[1], 2, "measured: 118")
	require.InDelta(t, 143, mcad[2], 2, "measured: 135")
	require.Regexp(t, `kwok, 100 Jobs +40 +[\d.]+ +[\d.]+ +3 +[+-][\d.]+ +no\n`, out)
	require.Regexp(t, `kwok\+MCAD, 1 Jobs +23 +[\d.]+ +[\d.]+ +3 +[+-][\d.]+ +in the fit\n`, out)
	require.Regexp(t, `kwok\+MCAD, 100 Jobs +135 +[\d.]+ +[\d.]+ +3 +[+-][\d.]+ +predicted\n`, out)
}

// TestSimulatedNotTabulated changes the inputs of the times: the times must follow.
func TestSimulatedNotTabulated(t *testing.T) {
	code, out, errs := simulate(t, "-jobs 7,60 -nodes 3 -seeds 1")
	require.Zero(t, code, errs)
	kwok := cells(t, out, "kwok, simulated")
	require.InDelta(t, 22.5, kwok[0], 1)
	require.InDelta(t, 32, kwok[1], 1.5, "between the 30 s of 50 Jobs and the 34 s of 75")
}

func TestSameSeedSameBytes(t *testing.T) {
	for _, study := range []string{"-study small-jobs -jobs 3,20 -seeds 2", "-study gpu -pods 2 -nodes 4 -seeds 2"} {
		first, again, other := files(t, study+" -seed 5"), files(t, study+" -seed 5"), files(t, study+" -seed 6")
		require.Len(t, again, len(first))
		for name, data := range first {
			require.Equal(t, data, again[name], name)
			require.NotEqual(t, data, other[name], name)
		}
	}
}

// files are the files that a study writes: page and logs.
func files(t *testing.T, study string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	code, _, errs := simulate(t, study+" -report "+filepath.Join(dir, "page.html")+" -log "+filepath.Join(dir, "log.jsonl"))
	require.Zero(t, code, errs)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	all := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		all[e.Name()] = string(data)
	}
	require.Greater(t, len(all), 2)
	return all
}

// TestTheSameJobsInAllWays reads the logs of a study as a user would.
func TestTheSameJobsInAllWays(t *testing.T) {
	dir := t.TempDir()
	code, out, errs := simulate(t, "-study gpu -seeds 1 -seed 2 -log "+filepath.Join(dir, "gpu.csv")+" -plots "+filepath.Join(dir, "plots"))
	require.Zero(t, code, errs)
	for _, run := range []string{"default-scheduler", "mcad", "mcad-gangs"} {
		log := readLog(t, filepath.Join(dir, "gpu."+run+".csv"))
		expect.Require(t, log,
			"count(response time) == 100",
			"12s < p50(response time) < 90s",
			"max(utilization of nvidia.com/gpu) <= 100%",
			"40% < mean(utilization of nvidia.com/gpu) < 50%",
			"p90(scheduling latency) < 40s",
		)
	}
	require.FileExists(t, filepath.Join(dir, "plots", "gpu-use.svg"))
	require.FileExists(t, filepath.Join(dir, "plots", "gpu-use.png"))
	require.FileExists(t, filepath.Join(dir, "plots", "gpu-use.csv"))
	require.Contains(t, out, "3 runs in")
}

// TestPoliciesAreComparedInPairs: MCAD has shorter completion times, which begin when a Job leaves
// its queue, and longer response times, with every seed.
func TestPoliciesAreComparedInPairs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jobs.csv")
	code, out, errs := simulate(t, "-study gpu -pods 2 -nodes 3 -seeds 4 -objects "+file)
	require.Zero(t, code, errs)
	rows := strings.NewReplacer("0 of 4", "0", "4 of 4", "4").Replace(out)
	for _, policy := range []string{"MCAD", "MCAD + gangs"} {
		response, completion := cells(t, rows, policy+": response time"), cells(t, rows, policy+": job completion time")
		require.InDelta(t, response[1]-response[0], response[2], 0.011)
		require.Positive(t, response[2])
		require.Equal(t, 4.0, response[4], "higher in all seeds")
		require.Negative(t, completion[2])
		require.Zero(t, completion[4])
	}
	jobs, err := os.ReadFile(strings.TrimSuffix(file, ".csv") + ".mcad.csv")
	require.NoError(t, err)
	require.Equal(t, 101, strings.Count(string(jobs), "\n"), "a header and 100 Jobs")
	require.True(t, strings.HasPrefix(string(jobs), "namespace,name,uid,created,ended,state,owned pods,dispatch time,response time,job completion time,cpu,memory,nvidia.com/gpu\n"))
}

func readLog(t *testing.T, file string) record.Log {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	log, err := record.Collect(record.ReadCSV(file, f))
	require.NoError(t, err)
	return log
}

// TestArrivalsAndSizes: Jobs arrive as often as configured, and have the configured length.
func TestArrivalsAndSizes(t *testing.T) {
	o, err := parse(strings.Fields("-study gpu -jobs 600 -nodes 50 -gap 10s -size 20s"), &bytes.Buffer{})
	require.NoError(t, err)
	l, err := runGPU(t.Context(), o, gpuScenarios[0], &studyClock{began: time.Now(), progress: &progress.Line{}})
	require.NoError(t, err)
	first, last, slept := time.Time{}, time.Time{}, 0.0
	for _, p := range jobTimesOf(l.log) {
		if first.IsZero() || p[0].Before(first) {
			first = p[0]
		}
		if p[0].After(last) {
			last = p[0]
		}
		slept += p[4].Sub(p[3]).Seconds()
	}
	// three standard deviations of a mean of 600 exponential draws are 12 %
	require.InEpsilon(t, 10, last.Sub(first).Seconds()/599, 0.12)
	require.InEpsilon(t, 20, slept/600, 0.12)
	require.Equal(t, []string{"Job.batch", record.Complete}, []string{l.goal.kind, l.goal.state})
}

func TestWrongFlags(t *testing.T) {
	for flags, want := range map[string]string{
		"-study train":                "-study train: want " + strings.Join(names(), ", "),
		"-study gpu -jobs 1,2":        "-jobs: -study gpu takes one number",
		"-jobs 1,x":                   `-jobs: "x" is no number above 0`,
		"-jobs 0":                     `-jobs: "0" is no number above 0`,
		"-pods 3":                     "-pods is not for -study small-jobs",
		"-study scale -gap 1s":        "-gap is not for -study scale",
		"-study scale -log a.jsonl":   "-log is not for -study scale",
		"-nodes -1":                   "-nodes -1: want at least 1",
		"-study scale -pods 0":        "-pods 0: want at least 1",
		"-study gpu -gap -1s":         "-gap -1s: want more than 0",
		"-study gpu -size 0":          "-size 0s: want more than 0",
		"-log a.txt":                  "-log a.txt: want a name that ends in .jsonl or .csv",
		"-study gpu -nodes 2 -pods 3": "-pods 3: a Job may ask for 24 GPUs, and 2 nodes have 16",
		"now":                         `unknown argument "now"`,
		"-speed 1":                    "flag provided but not defined: -speed",
	} {
		code, out, errs := simulate(t, flags)
		require.Equal(t, 2, code, flags)
		require.Empty(t, out, flags)
		require.Contains(t, errs, want, flags)
	}
	_, _, errs := simulate(t, "-nodes 0 -log x now")
	for _, want := range []string{"-nodes 0", "-log x", `"now"`} {
		require.Contains(t, errs, want, "all at once")
	}
	code, _, errs := simulate(t, "-h")
	require.Zero(t, code)
	require.Contains(t, errs, "-study")
}

func TestFilesThatCannotBeWritten(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none", "a")
	for _, flags := range []string{"-report " + missing, "-log " + missing + ".csv"} {
		code, _, errs := simulate(t, "-jobs 1 "+flags)
		require.Equal(t, 1, code)
		require.Contains(t, errs, "no such file")
	}
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	require.Equal(t, 1, run(ctx, nil, &out, &errs))
	require.Contains(t, errs.String(), "context canceled")
}

func TestJobsThatNeverComplete(t *testing.T) {
	l, err := newLab(t.Context(), labOptions{name: "run", nodes: 1, stages: studyStages(), goal: goal{"Job.batch", record.Complete, 1}})
	require.NoError(t, err)
	require.NoError(t, submitJob(t.Context(), l, job{Name: "job-1", Pods: 1, GPUs: 9, Sleep: time.Second}))
	require.EqualError(t, l.play(t.Context(), &studyClock{began: time.Now(), progress: &progress.Line{}}, never), "run: nothing is left to happen, and 1 of 1 are not Complete")
}

func TestScale(t *testing.T) {
	code, out, errs := simulate(t, "-study scale -pods 500 -nodes 10")
	require.Zero(t, code, errs)
	require.Contains(t, out, "transitions: 2020", "10 nodes become ready, 500 Pods are created, scheduled, started and ready")
	require.Equal(t, 500.0, cells(t, out, "time to ready")[0])
	require.Less(t, cells(t, out, "time to ready")[7], 10.0)

	code, _, errs = simulate(t, "-study scale -pods 120 -nodes 1")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "10 of 120 are not Ready", "a node has places for 110 Pods")
}

func TestProgress(t *testing.T) {
	began := time.Now()
	c := &studyClock{began: began, since: began, progress: &progress.Line{}}
	l, err := newLab(t.Context(), labOptions{name: "run", nodes: 1, stages: studyStages(), goal: goal{"Job.batch", record.Complete, 4}})
	require.NoError(t, err)
	require.NoError(t, l.Advance(t.Context(), time.Minute))
	l.reached = 1
	require.Equal(t, "run [======                  ] 1/4 Complete, 1 objects, 1 events/s, 30 times real time, 6s left", c.line(l, began.Add(2*time.Second)))
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0.00", -0.001: "0.00", 1.005: "1.00", -2.5: "-2.50", math.Inf(1): "+Inf"} {
		require.Equal(t, want, number(v))
	}
	require.Equal(t, "-", number(math.NaN()))
	require.Equal(t, "dir/a.mcad-gangs.csv", logName("dir/a.csv", "MCAD + gangs"))
}

// TestSweepsStopWhenNarrow: a point ends when the interval of a mean is narrow enough.
func TestSweepsStopWhenNarrow(t *testing.T) {
	table := filepath.Join(t.TempDir(), "queues.csv")
	code, _, errs := simulate(t, "-study queues -seeds 30 -stop wait=20% -table "+table)
	require.Equal(t, 0, code, errs)
	text, err := os.ReadFile(table)
	require.NoError(t, err)
	runs := strings.Count(string(text), ",wait,")
	require.Greater(t, runs, 5*12-1)
	require.Less(t, runs, 30*12)
}

// TestSweepsInParts runs the study of queues in two parts, and as one: the table is the same.
func TestSweepsInParts(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl")
	for i, name := range []string{a, b} {
		code, out, errs := simulate(t, "-study queues -seeds 2 -shard "+strconv.Itoa(i)+"/2 -results "+name)
		require.Zero(t, code, errs)
		require.Contains(t, out, "part: "+strconv.Itoa(i)+"/2")
	}
	code, merged, errs := simulate(t, "-study queues -seeds 2 -merge "+b+","+a)
	require.Zero(t, code, errs)
	code, whole, errs := simulate(t, "-study queues -seeds 2")
	require.Zero(t, code, errs)
	table := func(out string) string { return out[:strings.LastIndex(out, "\n\n")] } // without the time it took
	require.Equal(t, table(whole), table(merged))
	require.Contains(t, whole, "model=M/M/4 load=0.8: wait")

	code, _, errs = simulate(t, "-study queues -seeds 2 -merge "+a)
	require.Equal(t, 1, code)
	require.Contains(t, errs, "10 runs of study")
	for flags, want := range map[string]string{
		"-study queues -shard 0/2":          "-shard 0/2: want -results as well",
		"-study queues -shard 2/2":          "want i/n with 0 <= i < n",
		"-study queues -seeds 0":            "-seeds 0: want at least 1",
		"-study queues -stop wait":          `"wait": want METRIC=0.1 or METRIC=5%`,
		"-study queues -stop wait=-1":       `"wait=-1": want METRIC=0.1 or METRIC=5%`,
		"-study queues -merge a -results b": "-merge runs nothing",
		"-study queues -nodes 3":            "-nodes is not for -study queues",
		"-study scale -results a":           "-results is not for -study scale",
	} {
		code, _, errs := simulate(t, flags)
		require.Equal(t, 2, code, flags)
		require.Contains(t, errs, want)
	}
}
