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

// meant has the correct findings in the Stage sets of the corpus: labels with a hyphen, and
// intentional mistakes in two of our sets.
var meant = map[string][]string{
	"wild-perf-tests":  {"job-complete-short subtraction", "job-complete-long subtraction"},
	"kwok-volume-fast": {"pvc-delete unchecked-target"}, // the author of a claim chooses spec.volumeName
	"own-weight-delay": {"zero never-wins", "upper-bound-wins jitter-below"},
}

// TestCorpus checks every Stage set of kwok and those found in public repositories: lint reports
// only what is true. Informational findings are allowed in our own sets, whose Stages overlap to
// test the choice between them; those about permissions everywhere.
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
					require.True(t, f.Rule != lint.Overlap || strings.HasPrefix(suite, "own-"), f.String())
					continue
				}
				got = append(got, f.Stage+" "+string(f.Rule))
			}
			require.Equal(t, meant[suite], got)
		})
	}
}
