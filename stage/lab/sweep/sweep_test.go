package sweep_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/sweep"
)

// study is a model with known values: the mean is that of the parameter, and the seeds differ by
// more than the policies.
func study(seeds int) sweep.Study {
	return sweep.Study{
		Name:       "known 1",
		Parameters: []sweep.Parameter{{Name: "policy", Values: []string{"fifo", "gang, with \"quotes\""}}, sweep.Numbers("mean", 10, 1e6)},
		Seeds:      seeds,
		Metrics:    []string{"time", "none"},
		Run: func(_ context.Context, r sweep.Run) ([]float64, error) {
			random := rand.New(rand.NewPCG(r.Seed, 1))
			v := r.Number("mean") + 5*random.NormFloat64()
			if r.Value("policy") != "fifo" {
				v += 1 + random.Float64()/10
			}
			return []float64{v, math.NaN()}, nil
		},
	}
}

func do(t *testing.T, s sweep.Study, o sweep.Options) *sweep.Result {
	t.Helper()
	result, err := sweep.Do(t.Context(), s, o)
	require.NoError(t, err)
	return result
}

func csvOf(t *testing.T, r *sweep.Result) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, r.WriteCSV(&b))
	return b.String()
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

func point(t *testing.T, s sweep.Study, values ...string) sweep.Point {
	t.Helper()
	p, err := s.Point(values...)
	require.NoError(t, err)
	return p
}

func TestSameBytesForAnyNumberOfWorkers(t *testing.T) {
	dir := t.TempDir()
	var files, tables []string
	for _, workers := range []int{1, 2, 7} {
		name := filepath.Join(dir, fmt.Sprint(workers))
		result := do(t, study(9), sweep.Options{Workers: workers, File: name})
		files, tables = append(files, read(t, name)), append(tables, csvOf(t, result))
		var lines bytes.Buffer
		require.NoError(t, result.WriteJSONL(&lines))
		require.Equal(t, lines.String(), read(t, name))
	}
	require.Equal(t, files[0], files[1])
	require.Equal(t, files[0], files[2])
	require.Equal(t, tables[0], tables[2])
	require.Equal(t, 1+2*2*9*2, strings.Count(tables[0], "\n"), "a row per run and metric")
	require.True(t, strings.HasPrefix(tables[0], "study,policy,mean,seed,metric,value\nknown 1,fifo,10,1,time,"), tables[0])
	require.Contains(t, tables[0], "known 1,\"gang, with \"\"quotes\"\"\",1e+06,9,none,\n")
	require.Contains(t, files[0], `{"study":"known 1","parameters":{"mean":"10","policy":"fifo"},"seed":1,"metric":"none","value":null}`+"\n")
}

// TestASweepGoesOn stops a sweep at each of its runs, cuts the file at any byte of its last line,
// and starts it again. No run is lost, and no finished run is repeated.
func TestASweepGoesOn(t *testing.T) {
	name := filepath.Join(t.TempDir(), "results.jsonl")
	want := do(t, study(3), sweep.Options{File: name})
	whole := read(t, name)
	for cut := 0; cut <= len(whole); cut += 37 {
		require.NoError(t, os.WriteFile(name, []byte(whole[:cut]), 0o644))
		s, runs := study(3), atomic.Int32{}
		run := s.Run
		s.Run = func(ctx context.Context, r sweep.Run) ([]float64, error) {
			runs.Add(1)
			return run(ctx, r)
		}
		var last sweep.Progress
		got := do(t, s, sweep.Options{File: name, Progress: func(p sweep.Progress) { last = p }})
		there := strings.Count(whole[:cut], "\n") / 2 // a run has two metrics
		require.EqualValues(t, 12-there, runs.Load(), "cut at %d", cut)
		require.Equal(t, whole, read(t, name))
		require.Equal(t, csvOf(t, want), csvOf(t, got))
		if there < 12 {
			require.Equal(t, [3]int{12, there, 12}, [3]int{last.Done, last.Found, last.All})
		}
	}
}

func TestAFailedRunKeepsTheOthers(t *testing.T) {
	name := filepath.Join(t.TempDir(), "results.jsonl")
	s := study(5)
	run := s.Run
	s.Run = func(ctx context.Context, r sweep.Run) ([]float64, error) {
		if r.Seed == 4 {
			return nil, errors.New("no quorum")
		}
		return run(ctx, r)
	}
	_, err := sweep.Do(t.Context(), s, sweep.Options{File: name, Workers: 1})
	require.EqualError(t, err, "sweep: policy=fifo mean=10 seed=4: no quorum")
	require.Equal(t, 3*4*2, strings.Count(read(t, name), "\n"))
	require.Equal(t, csvOf(t, do(t, study(5), sweep.Options{})), csvOf(t, do(t, study(5), sweep.Options{File: name})))

	for want, values := range map[string][]float64{
		"time is +Inf":                       {math.Inf(1), 0},
		"it returned 1 values for 2 metrics": {0},
		"time is -Inf":                       {math.Inf(-1), math.Inf(-1)},
		"it returned 0 values for 2 metrics": nil,
		"it returned 3 values for 2 metrics": {1, 2, 3},
		"none is +Inf":                       {math.NaN(), math.Inf(1)},
	} {
		s.Run = func(context.Context, sweep.Run) ([]float64, error) { return values, nil }
		_, err := sweep.Do(t.Context(), s, sweep.Options{Workers: 1})
		require.EqualError(t, err, "sweep: policy=fifo mean=10 seed=1: "+want)
	}
}

func TestACancelledSweepEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := study(1000)
	s.Run = func(ctx context.Context, r sweep.Run) ([]float64, error) {
		if r.Seed == 2 {
			cancel()
			<-ctx.Done()
		}
		return []float64{1, 2}, ctx.Err()
	}
	_, err := sweep.Do(ctx, s, sweep.Options{})
	require.ErrorIs(t, err, context.Canceled)
	_, err = sweep.Do(ctx, s, sweep.Options{})
	require.ErrorIs(t, err, context.Canceled, "before the first run")
}

func TestTooMuchMemoryEndsTheSweep(t *testing.T) {
	s := study(50)
	var held [][]byte
	s.Run = func(context.Context, sweep.Run) ([]float64, error) {
		held = append(held, make([]byte, 4<<20))
		held[len(held)-1][0] = 1
		return []float64{1, 2}, nil
	}
	_, err := sweep.Do(t.Context(), s, sweep.Options{Workers: 1, Memory: 1 << 20})
	require.ErrorContains(t, err, "MiB of memory, and its workers may use 1 MiB: run fewer or smaller ones")
	require.NotEmpty(t, held)
}

// TestPairsAreNarrower shows common random numbers: the seeds are five apart, the policies one.
func TestPairsAreNarrower(t *testing.T) {
	s := study(10)
	result := do(t, s, sweep.Options{})
	fifo, gang := point(t, s, "fifo", "10"), point(t, s, s.Parameters[0].Values[1], "10")
	difference, err := result.Difference(0.95, "time", fifo, gang)
	require.NoError(t, err)
	require.InDelta(t, 1.05, difference.Mean, 0.05)
	require.Less(t, difference.Half(), 0.05)
	alone, err := result.Estimate(0.95, fifo, "time")
	require.NoError(t, err)
	require.Greater(t, alone.Half(), 1.0)
	require.True(t, alone.Contains(10), alone)
	require.Equal(t, alone, result.Estimates(0.95)[0].Interval)
	none, err := result.Estimate(0.95, fifo, "none")
	require.NoError(t, err)
	require.Zero(t, none.Count)

	_, err = result.Estimate(0.95, fifo, "other")
	require.EqualError(t, err, `sweep: study "known 1" has no metric "other" at "policy=fifo mean=10"`)
	_, err = result.Difference(0.95, "time", fifo, sweep.Point{})
	require.Error(t, err)
	_, err = s.Point("fifo")
	require.EqualError(t, err, `sweep: study "known 1" has no point fifo`)
	require.Panics(t, func() { fifo.Value("other") })
	require.Panics(t, func() { fifo.Number("policy") })
}

// TestEnoughSeeds stops each point when its interval is narrow enough, at the same seed for any
// number of workers and parts.
func TestEnoughSeeds(t *testing.T) {
	s := study(1000)
	s.Stop = &sweep.Stop{Metric: "time", Relative: 0.1}
	dir := t.TempDir()
	result := do(t, s, sweep.Options{Workers: 1, File: filepath.Join(dir, "whole")})
	narrow, wide := point(t, s, "fifo", "1e+06"), point(t, s, "fifo", "10")
	first, err := result.Estimate(0.95, narrow, "time")
	require.NoError(t, err)
	require.Equal(t, 5, first.Count, "the fewest")
	second, err := result.Estimate(0.95, wide, "time")
	require.NoError(t, err)
	require.LessOrEqual(t, second.Half(), 0.1*second.Mean)
	require.Greater(t, second.Count, 50)
	require.Less(t, second.Count, 200)

	var names []string
	for i := range 3 {
		names = append(names, filepath.Join(dir, fmt.Sprint(i)))
		do(t, s, sweep.Options{Workers: 3, Shard: sweep.Shard{Index: i, Count: 3}, File: names[i]})
	}
	merged, err := sweep.Merge(s, names[2], names[0], names[1])
	require.NoError(t, err)
	require.Equal(t, csvOf(t, result), csvOf(t, merged))
	_, err = sweep.Merge(s, names[2], names[1])
	require.ErrorContains(t, err, `runs of study "known 1" are in none of the files, such as policy=fifo mean=10 seed=1`)

	s.Stop.Relative = 0.5
	_, err = sweep.Do(t.Context(), s, sweep.Options{File: filepath.Join(dir, "whole")})
	require.ErrorContains(t, err, "so this was run for another Stop")
	_, err = sweep.Merge(s, names...)
	require.ErrorContains(t, err, "so this was run for another Stop")
}

func TestStudiesAreChecked(t *testing.T) {
	_, err := sweep.Do(t.Context(), sweep.Study{}, sweep.Options{Shard: sweep.Shard{Index: 3, Count: 3}})
	for _, want := range []string{"it has no name", "0 seeds: want at least 1", "it has no function Run", "it has no metrics", "shard 3/3: want 0 <= i < n"} {
		require.ErrorContains(t, err, want)
	}
	for want, change := range map[string]func(*sweep.Study){
		`metrics ["a" "a"]: want distinct names`:                           func(s *sweep.Study) { s.Metrics = []string{"a", "a"} },
		`parameter "policy": values []: want at least one`:                 func(s *sweep.Study) { s.Parameters[0].Values = nil },
		`parameter "policy": values ["a" "b" "a"]: want at least one, all`: func(s *sweep.Study) { s.Parameters[0].Values = []string{"a", "b", "a"} },
		`parameters ["mean" "mean"]: want distinct names`:                  func(s *sweep.Study) { s.Parameters[0].Name = "mean" },
		`want names that are not empty, nor those of other columns`:        func(s *sweep.Study) { s.Parameters[0].Name = "seed" },
		`a name or a value is no UTF-8`:                                    func(s *sweep.Study) { s.Parameters[0].Values = []string{"\xff"} },
		`it stops by metric "x", which it does not measure: want one of`:   func(s *sweep.Study) { s.Stop = &sweep.Stop{Metric: "x", Half: 1} },
		`it stops at half 0, relative 0: want one above 0`:                 func(s *sweep.Study) { s.Stop = &sweep.Stop{Metric: "time"} },
		`it stops by level 1: want less than 1`:                            func(s *sweep.Study) { s.Stop = &sweep.Stop{Metric: "time", Half: 1, Level: 1} },
	} {
		s := study(1)
		change(&s)
		_, err := sweep.Do(t.Context(), s, sweep.Options{})
		require.ErrorContains(t, err, want)
		_, err = sweep.Merge(s)
		require.ErrorContains(t, err, want)
	}
	for text, want := range map[string]sweep.Shard{"0/1": {0, 1}, "2/8": {2, 8}} {
		s, err := sweep.ParseShard(text)
		require.NoError(t, err)
		require.Equal(t, want, s)
		require.Equal(t, text, s.String())
	}
	for _, text := range []string{"", "1", "1/1", "-1/2", "a/2", "0/0", "0/-1", "1/2/3"} {
		_, err := sweep.ParseShard(text)
		require.EqualError(t, err, fmt.Sprintf("sweep: shard %q: want i/n with 0 <= i < n", text))
	}
}
