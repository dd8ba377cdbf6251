package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/expected"
)

const output = `=== RUN   TestSuite
Running Suite: Cache
--- FAIL: TestSuite (2.00s)
=== RUN   TestPlain
=== RUN   TestPlain/sub
--- PASS: TestPlain (0.50s)
    --- SKIP: TestPlain/sub (0.25s)
FAIL
`

const ginkgoReport = `[{"SpecReports": [
	{"LeafNodeType": "BeforeSuite", "State": "passed"},
	{"LeafNodeType": "AfterSuite", "State": "failed", "Failure": {"Message": "left over"}},
	{"ContainerHierarchyTexts": ["a cache"], "LeafNodeType": "It", "LeafNodeText": "reads", "State": "passed", "RunTime": 1000},
	{"ContainerHierarchyTexts": ["a cache"], "LeafNodeType": "It", "LeafNodeText": "reads", "State": "panicked", "Failure": {"Message": "two\nlines"}},
	{"ContainerHierarchyTexts": [], "LeafNodeType": "It", "LeafNodeText": "waits", "State": "pending"}
]}]`

func TestResultsAreRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	require.NoError(t, os.WriteFile(file, []byte(ginkgoReport), 0o600))
	got, err := readResults("pkg/cache", []byte(output), file)
	require.NoError(t, err)
	require.Equal(t, map[string]expected.Result{
		"pkg/cache TestPlain":         {State: expected.Pass, Took: 500 * time.Millisecond, Message: "see the log"},
		"pkg/cache TestPlain/sub":     {State: expected.Skip, Took: 250 * time.Millisecond, Message: "see the log"},
		"pkg/cache a cache reads":     {State: expected.Pass, Took: time.Microsecond, Message: "no message"},
		"pkg/cache AfterSuite":        {State: expected.Fail, Message: "left over"},
		"pkg/cache a cache reads (2)": {State: expected.Fail, Message: "two lines"},
	}, got)
}

// TestUnlistedTestsPass checks that a test which fails in memory has to be listed, with a reason,
// and that a listed test has to run.
func TestUnlistedTestsPass(t *testing.T) {
	on := func(state expected.State) map[string]expected.Result {
		return map[string]expected.Result{"p a": {State: state, Message: "no such field"}}
	}
	file := filepath.Join(t.TempDir(), "list.txt")
	list, err := expected.Read(file, "# head")
	require.NoError(t, err)
	failing := outcome{pkg: "p", results: [2]map[string]expected.Result{on(expected.Pass), on(expected.Fail)}}
	require.EqualError(t, failing.compare(list, false), "p a: is fail, listed as pass")
	require.NoError(t, failing.compare(list, true))
	require.NoError(t, failing.compare(list, false))
	passing := outcome{pkg: "p", results: [2]map[string]expected.Result{on(expected.Pass), on(expected.Pass)}}
	require.EqualError(t, passing.compare(list, false), "p a: is pass, listed as fail")
	other := outcome{pkg: "p", results: [2]map[string]expected.Result{{}, nil}}
	require.EqualError(t, other.compare(list, false), "p a: is fail, listed as pass")
	require.NoError(t, passing.compare(list, true))
	list.Drop()
	require.Empty(t, list.Names(""))
}
