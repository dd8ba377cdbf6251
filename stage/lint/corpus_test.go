package lint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lint"
)

const corpus = "../../../shared/conformance/stage"

// meant are the findings in the Stage sets of the corpus, which are true: labels written with a hyphen, and what two sets of ours hold on purpose.
var meant = map[string][]string{
	"wild-perf-tests":  {"job-complete-short subtraction", "job-complete-long subtraction"},
	"own-weight-delay": {"zero never-wins", "upper-bound-wins jitter-below"},
}

// TestCorpus checks every Stage set that kwok has and that was found in public repositories: nothing is reported that is not so. Information is given
// about Stages of ours that overlap in order to test the draw.
func TestCorpus(t *testing.T) {
	if _, err := os.Stat(corpus); err != nil {
		t.Skip("the recorded cases are not beside this repository: ", err)
	}
	dirs, err := filepath.Glob(corpus + "/*/stages")
	require.NoError(t, err)
	require.Len(t, dirs, 19)
	for _, dir := range dirs {
		suite := filepath.Base(filepath.Dir(dir))
		t.Run(suite, func(t *testing.T) {
			source, err := stage.Load(dir)
			require.NoError(t, err)
			var got []string
			for _, f := range lint.Check(source) {
				if f.Rule.Informational() {
					require.True(t, strings.HasPrefix(suite, "own-"), f.String())
					continue
				}
				got = append(got, f.Stage+" "+string(f.Rule))
			}
			require.Equal(t, meant[suite], got)
		})
	}
}
