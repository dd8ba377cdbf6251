package expected

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLists checks that each list can be read, is as Write writes it, and has a reason for each
// test that does not pass.
func TestLists(t *testing.T) {
	files, err := filepath.Glob("../*/testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		list, err := Read(file, "")
		require.NoError(t, err)
		copied := filepath.Join(t.TempDir(), "list.txt")
		require.NoError(t, list.Write(copied))
		written, err := os.ReadFile(copied)
		require.NoError(t, err)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(written), string(text))
		for column := range columns {
			require.NoError(t, list.Compare(t.Output(), column, nil), file)
		}
	}
}

func TestResultsAreCompared(t *testing.T) {
	list := &Table{rows: []*row{
		{name: "a", results: [columns]State{Pass, Pass}},
		{name: "b", results: [columns]State{Pass, Fail}, reasons: []string{"memory: no"}},
		{name: "c", results: [columns]State{Skip, Skip}, reasons: []string{"waits"}},
	}}
	passed := map[string]Result{"a": {State: Pass, Took: time.Second}, "b": {State: Pass}}
	require.NoError(t, list.Compare(t.Output(), Real, passed))
	require.ErrorContains(t, list.Compare(t.Output(), Memory, passed), "b: is pass, listed as fail")
	failed := map[string]Result{"a": {State: Fail, Message: "broken"}}
	require.ErrorContains(t, list.Compare(t.Output(), Real, failed), "a: is fail, listed as pass")
	list.Enter(Real, failed)
	require.NoError(t, list.Compare(t.Output(), Real, failed))
	require.Equal(t, []string{"real: broken"}, list.rows[0].reasons)
	list.Enter(Real, passed)
	require.Empty(t, list.rows[0].reasons)
}

// TestVaryingResults checks that a test whose result differs from run to run needs a reason, and
// stays in the list.
func TestVaryingResults(t *testing.T) {
	list := &Table{rows: []*row{{name: "a", results: [columns]State{Pass, Vary}}}}
	for _, state := range []State{Pass, Fail} {
		list.rows[0].reasons = nil
		results := map[string]Result{"a": {State: state}}
		require.EqualError(t, list.Compare(t.Output(), Memory, results), "a: is listed as vary without a reason")
		list.rows[0].reasons = []string{"memory: a race of the test"}
		list.Enter(Memory, results)
		list.Drop()
		require.NoError(t, list.Compare(t.Output(), Memory, results))
	}
}

func TestTablesAreCompleted(t *testing.T) {
	list := &Table{rows: []*row{{name: "a"}, {name: "gone"}}}
	require.EqualError(t, list.Complete([]string{"a", "new"}), `there is no test "gone"`)
	require.Equal(t, []State{none, none}, list.rows[2].results[:])
}

func TestPassing(t *testing.T) {
	list := &Table{rows: []*row{
		{name: "a 1", results: [columns]State{Pass, Pass}}, {name: "a 2", results: [columns]State{Pass, Fail}},
		{name: "a 3", results: [columns]State{Fail, Pass}}, {name: "b 1", results: [columns]State{Pass, Pass}},
	}}
	onReal, onBoth := list.Passing("a ")
	require.Equal(t, []int{2, 1}, []int{onReal, onBoth})
}
