package work

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	searching = flag.Duration("search", 0, "how long to search for the worst work for a charge; findings are added to testdata/worst.txt")
	seed      = flag.Uint64("seed", 1, "of the search")
)

const corpus = "testdata/worst.txt"

// Slack is how much slower than the machine on which bounds were measured a machine may be.
const Slack = 10

// TestWorst evaluates the worst expressions that were found, and requires that their work is within
// the bounds. With -search it first searches for worse ones.
func (s Subject) TestWorst(t *testing.T) {
	data, err := os.ReadFile(corpus)
	require.True(t, err == nil || os.IsNotExist(err) && *searching > 0, "%v", err)
	texts := strings.Split(strings.TrimSpace(string(data)), "\n")
	if *searching > 0 {
		texts = append(texts, s.search(t)...)
		require.NoError(t, os.MkdirAll(filepath.Dir(corpus), 0o755))
		require.NoError(t, os.WriteFile(corpus, []byte(strings.TrimSpace(strings.Join(unique(texts), "\n"))+"\n"), 0o644))
	}
	require.NotEmpty(t, texts[0])
	for _, text := range texts {
		s.Require(t, text)
	}
}

func unique(texts []string) (out []string) {
	seen := map[string]bool{}
	for _, text := range texts {
		if !seen[text] && text != "" {
			out = append(out, text)
		}
		seen[text] = true
	}
	return out
}

func (s Subject) search(t *testing.T) (texts []string) {
	start := time.Now()
	worst, evaluated := s.Search(*seed, *searching, func(f Finding) {
		t.Logf("%v: %.2f of the bound: %s", time.Since(start).Round(time.Second), f.Ratio, f.Text)
	})
	t.Logf("%d expressions", evaluated)
	for i, f := range worst {
		t.Logf("%.2f of the bound: %s", f.Ratio, f.Text)
		if i < 15 && !strings.Contains(f.Text, "\n") {
			texts = append(texts, f.Text)
		}
	}
	return texts
}

// Require fails the test if the work of an expression is above its bound: the allocations, and with
// Slack the time.
func (s Subject) Require(t testing.TB, text string) {
	t.Helper()
	spent, units := s.Evaluate(text, 3)
	if units == 0 {
		return
	}
	allocated, took := float64(spent.Bytes)/units, float64(spent.Time)/units
	if took > float64(Slack*s.Bound.Time) {
		spent, _ = s.Evaluate(text, 20)
		took = float64(spent.Time) / units
	}
	require.LessOrEqual(t, allocated, float64(s.Bound.Bytes), "bytes for a unit: %s", text)
	require.LessOrEqual(t, took, float64(Slack*s.Bound.Time), "nanoseconds for a unit: %s", text)
}

// Fuzz is the search as a fuzz target, beginning with the worst that were found.
func (s Subject) Fuzz(f *testing.F) {
	for i := range 64 {
		f.Add(bytes.Repeat([]byte{byte(i * 41), byte(i * 7), byte(i)}, 8))
	}
	f.Fuzz(func(t *testing.T, data []byte) { s.Require(t, s.Write(NewChoices(data))) })
}
