package sweep_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/sweep"
)

// TestMain plays a process of a sweep if a test starts one: it runs a part into a file, and waits
// forever in a run with seed SWEEP_WAIT.
func TestMain(m *testing.M) {
	shard := os.Getenv("SWEEP_SHARD")
	if shard == "" {
		os.Exit(m.Run())
	}
	s := study(20)
	run := s.Run
	s.Run = func(ctx context.Context, r sweep.Run) ([]float64, error) {
		if fmt.Sprint(r.Seed) == os.Getenv("SWEEP_WAIT") {
			fmt.Println("waiting")
			select {}
		}
		return run(ctx, r)
	}
	part, err := sweep.ParseShard(shard)
	if err == nil {
		_, err = sweep.Do(context.Background(), s, sweep.Options{File: os.Getenv("SWEEP_FILE"), Shard: part, Workers: 1})
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

func process(shard, file, wait string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SWEEP_SHARD="+shard, "SWEEP_FILE="+file, "SWEEP_WAIT="+wait)
	return cmd
}

// TestTwoProcesses runs a sweep in two processes. One of them is killed in the middle and started
// again. The files give the result of one process, in any order, also if a file is read twice.
func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl")
	killed := process("0/2", a, "13")
	out, err := killed.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, killed.Start())
	other, err := process("1/2", b, "").CombinedOutput()
	require.NoError(t, err, string(other))
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "waiting\n", line)
	require.NoError(t, killed.Process.Kill())
	require.Error(t, killed.Wait())
	require.Equal(t, 12*2*2, strings.Count(read(t, a), "\n"), "what had ended is in the file")

	_, err = sweep.Merge(study(20), a, b)
	require.EqualError(t, err, `sweep: 16 runs of study "known 1" are in none of the files, such as policy=fifo mean=10 seed=13`)
	again, err := process("0/2", a, "").CombinedOutput()
	require.NoError(t, err, string(again))
	want := csvOf(t, do(t, study(20), sweep.Options{}))
	for _, names := range [][]string{{a, b}, {b, a}, {b, a, b}} {
		merged, err := sweep.Merge(study(20), names...)
		require.NoError(t, err)
		require.Equal(t, want, csvOf(t, merged))
	}
}

const good = `{"study":"known 1","parameters":{"mean":"10","policy":"fifo"},"seed":1,"metric":"time","value":1}` + "\n"

// TestFilesThatAreRefused reads files that this study did not write. The error has the line, no run
// is started, and the file stays.
func TestFilesThatAreRefused(t *testing.T) {
	replace := func(old, text string) string { return good + strings.Replace(good, old, text, 1) }
	for want, text := range map[string]string{
		`it is of study "known 2", not of "known 1"`:                     replace("known 1", "known 2"),
		`want a JSON object`:                                             good + "time,1\n",
		`unexpected end of JSON input`:                                   good + good[:40] + "\n",
		`invalid character 'x' after top-level value`:                    good + strings.TrimSpace(good) + "x\n",
		`seed is missing`:                                                replace(`"seed":1,`, ""),
		`unknown field "more"`:                                           replace(`"seed":1,`, `"seed":1,"more":2,`),
		`the study has no metric "speed"`:                                replace("time", "speed"),
		`the study has no seed 0: it has 1 to 3`:                         replace(`"seed":1`, `"seed":0`),
		`the study has no seed 4: it has 1 to 3`:                         replace(`"seed":1`, `"seed":4`),
		`cannot unmarshal number -1 into Go struct field line.seed`:      replace(`"seed":1`, `"seed":-1`),
		`the study has no point map[mean:10 policy:lifo]: "policy" does`: replace("fifo", "lifo"),
		`the study has no point map[mean:10]: "policy" does`:             replace(`,"policy":"fifo"`, ""),
		`the study has no point map[a:b mean:10 policy:fifo]`:            replace(`{"mean"`, `{"a":"b","mean"`),
		`time of policy=fifo mean=10 seed=1 is 2, and 1 in `:             replace(`"value":1`, `"value":2`),
		`policy=fifo mean=1e+06 seed=1 is not of part 0/2`:               replace(`"mean":"10"`, `"mean":"1e+06"`),
		`it is no line of this study`:                                    good + `{"study":"known 2`,
	} {
		name := filepath.Join(t.TempDir(), "r.jsonl")
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
		s := study(3)
		s.Run = func(context.Context, sweep.Run) ([]float64, error) { panic("it is run") }
		_, err := sweep.Do(t.Context(), s, sweep.Options{File: name, Shard: sweep.Shard{Count: 2}})
		fault := &sweep.LineError{}
		require.ErrorAs(t, err, &fault, want)
		require.Equal(t, [2]any{name, 2}, [2]any{fault.File, fault.Line})
		require.ErrorContains(t, err, want)
		require.Equal(t, text, read(t, name))
		_, err = sweep.Merge(s, name)
		require.Error(t, err)
	}
	_, err := sweep.Merge(study(1), filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = sweep.Do(t.Context(), study(1), sweep.Options{File: t.TempDir()})
	require.Error(t, err)
}

func TestALineThatIsCutOffIsNotMerged(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.jsonl")
	require.NoError(t, os.WriteFile(name, []byte(good+good[:50]), 0o644))
	_, err := sweep.Merge(study(1), name)
	require.EqualError(t, err, name+":2: the line is cut off: start the sweep that wrote it again")
}

// A run whose values differ from the file depends on more than its parameters and seed.
func TestRunsThatDependOnSomethingElse(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.jsonl")
	require.NoError(t, os.WriteFile(name, []byte(good), 0o644)) // the other metric is missing
	_, err := sweep.Do(t.Context(), study(1), sweep.Options{File: name})
	require.ErrorContains(t, err, "and 1 in "+name+":1: runs must depend on nothing else")
}

func FuzzRead(f *testing.F) {
	f.Add(good)
	f.Add(good + good[:30])
	f.Add(strings.Replace(good, "1}", "null}", 1))
	f.Fuzz(func(t *testing.T, text string) {
		name := filepath.Join(t.TempDir(), "r.jsonl")
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
		result, err := sweep.Merge(study(1), name)
		if err == nil {
			require.NoError(t, result.WriteCSV(io.Discard))
		}
	})
}

// TestASweepOnAFullDiskGoesOn limits the size of files, so that a write of the sweep fails in the
// middle. The sweep says so; started again, it goes on after the whole lines.
func TestASweepOnAFullDiskGoesOn(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.jsonl")
	cmd := process("0/1", name, "")
	cmd.Args = []string{"sh", "-c", `ulimit -f 8; exec "$0"`, os.Args[0]} // 4 or 8 KiB
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	cmd.Path = sh
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "file too large")
	cut := read(t, name)
	require.NotEmpty(t, cut)
	_, err = sweep.Merge(study(20), name)
	require.Error(t, err)
	again, err := process("0/1", name, "").CombinedOutput()
	require.NoError(t, err, string(again))
	merged, err := sweep.Merge(study(20), name)
	require.NoError(t, err)
	require.Equal(t, csvOf(t, do(t, study(20), sweep.Options{})), csvOf(t, merged))
}

// TestSweepsThatAreCutOff cuts a file of a sweep at every byte: it is never merged, and a sweep that
// goes on after it writes the same file.
func TestSweepsThatAreCutOff(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.jsonl")
	do(t, study(1), sweep.Options{File: name})
	whole := read(t, name)
	for cut := range len(whole) {
		require.NoError(t, os.WriteFile(name, []byte(whole[:cut]), 0o644))
		_, err := sweep.Merge(study(1), name)
		require.Error(t, err, "cut at %d", cut)
		if cut%37 == 0 {
			do(t, study(1), sweep.Options{File: name})
			require.Equal(t, whole, read(t, name), "cut at %d", cut)
		}
	}
}
