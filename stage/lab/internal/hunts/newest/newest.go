// Package newest hunts an operator for a time, seed after seed, and collects the findings.
package newest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/files"
)

// Hunt hunts for the time in the environment variable HUNT_FOR, in rounds with a seed each,
// starting at HUNT_SEED (0). It logs each finding with its story (the log of the run), writes the
// finding as a plan into HUNT_OUT, and does not look for it in later rounds. It also logs the CPU
// time of the process so far.
func Hunt(t *testing.T, o hunt.Options, scenario func(*hunt.Run)) {
	limit, err := time.ParseDuration(os.Getenv("HUNT_FOR"))
	if err != nil {
		t.Skip("HUNT_FOR says for how long")
	}
	o.Seed, _ = strconv.ParseUint(os.Getenv("HUNT_SEED"), 10, 64)
	end := time.Now().Add(limit)
	for runs := 0; time.Now().Before(end); o.Seed++ {
		o.Runs, o.Time = 2000, time.Until(end)
		report, err := hunt.Search(o, scenario)
		require.NoError(t, err)
		runs += report.Runs
		t.Logf("%s, seed %d, %d runs in all, %s of CPU so far\n%s", t.Name(), o.Seed, runs, cpu(t), report)
		for _, f := range report.Failures {
			t.Logf("seed %d, run %d\n%s", o.Seed, f.Run, f)
			o.Known = append(o.Known, f.Check+" ("+f.Kind+")")
			keep(t, f)
		}
	}
}

func keep(t *testing.T, f hunt.Failure) {
	name := strings.NewReplacer(" ", "-", "/", "-").Replace(t.Name() + "-" + f.Check + "-" + f.Kind)
	require.NoError(t, files.WriteBytes(filepath.Join(os.Getenv("HUNT_OUT"), name), []byte(f.String())))
}

// Replay plays the plans of a test in directory plans and returns their findings. Each plan shows
// one finding.
func Replay(t *testing.T, o hunt.Options, scenario func(*hunt.Run)) (found []hunt.Finding) {
	names, err := filepath.Glob(filepath.Join("plans", t.Name()+"-*"))
	require.NoError(t, err)
	for _, name := range names {
		out, err := hunt.Replay(o, scenario, name)
		require.NoError(t, err)
		require.NotEmpty(t, out.Findings, name)
		t.Logf("%s: %s", name, out.Findings[0])
		found = append(found, out.Findings...)
	}
	return found
}

// cpu is the time that the process has used, system calls included.
func cpu(t *testing.T) time.Duration {
	var used syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Round(time.Second)
}
