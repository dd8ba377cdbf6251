package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLists holds that each list can be read, is as -update writes it, and has a reason for each
// test that does not pass.
func TestLists(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		list, err := readTable(file, namesIn(string(text)))
		require.NoError(t, err)
		copied := filepath.Join(t.TempDir(), "list.txt")
		require.NoError(t, list.write(copied))
		written, err := os.ReadFile(copied)
		require.NoError(t, err)
		require.Equal(t, string(written), string(text))
		for column := range columns {
			require.NoError(t, list.compare(t.Output(), column, nil), file)
		}
	}
}

func namesIn(text string) (names []string) {
	for l := range strings.Lines(text) {
		if m := line.FindStringSubmatch(strings.TrimSpace(l)); m != nil {
			names = append(names, m[3])
		}
	}
	return names
}

func TestResultsAreCompared(t *testing.T) {
	list := &table{rows: []*row{
		{name: "a", results: [columns]string{pass, pass}},
		{name: "b", results: [columns]string{pass, fail}, reasons: []string{"memory: no"}},
		{name: "c", results: [columns]string{skip, skip}, reasons: []string{"waits"}},
	}}
	passed := map[string]result{"a": {passed: true, took: time.Second}, "b": {passed: true}}
	require.NoError(t, list.compare(t.Output(), onReal, passed))
	require.ErrorContains(t, list.compare(t.Output(), inMemory, passed), "b: is pass, listed as fail")
	failed := map[string]result{"a": {message: "broken"}}
	require.ErrorContains(t, list.compare(t.Output(), onReal, failed), "a: is fail, listed as pass")
	list.enter(onReal, failed)
	require.NoError(t, list.compare(t.Output(), onReal, failed))
	require.Equal(t, []string{"real: broken"}, list.rows[0].reasons)
	list.enter(onReal, passed)
	require.Empty(t, list.rows[0].reasons)
}

func TestFirstFailure(t *testing.T) {
	require.Equal(t, "no Pod", firstFailure([]byte("STEP: x\n  [FAILED] no Pod\n  [FAILED] later\n")))
	require.Equal(t, "timed out", firstFailure([]byte("[TIMEDOUT] A suite timeout occurred\n")))
	require.Equal(t, "no message", firstFailure(nil))
}
