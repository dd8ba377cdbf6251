package hunt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
)

const planText = `hunt v1
seed 7
fault crash-after operator store default/a create Task #1 for=10s behind=2
fault refuse operator "my store" /a update Store/status #2 code=409 times=3
fault lag operator sees default/a MODIFIED Store #1 for=1m0s
fault pause operator-1 store default/a create Task #1 for=10s
fault overlap operator-1 store default/a create Task #2
fault skew operator sees default/a ADDED Store #1 for=1m0s by=-1m0s
fault slow operator sees default/a ADDED Store #1 by=5s
fault stop-node operator sees default/a-0 MODIFIED Pod #1 for=1m0s
fault remove-node operator sees default/a-0 MODIFIED Pod #2
fault fail-pod operator sees default/a-0 MODIFIED Pod #3
fault delete operator store default/a create Task #1 policy=orphan
fault recreate operator store default/a create Task #1 number=2
`

func TestPlansAreReadAsTheyArePrinted(t *testing.T) {
	plan, err := hunt.ParsePlan("a.hunt", planText)
	require.NoError(t, err)
	require.Equal(t, planText, plan.String())
	again, err := hunt.ParsePlan("a.hunt", "# found by somebody\n\n"+planText+"-- story --\nwhatever")
	require.NoError(t, err)
	require.Equal(t, plan, again)
}

func TestPlansAreRefusedWithLineAndField(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"hunt v2", "p:1: hunt: version v2 is not known here, v1 is"},
		{"seed 7", `p:1: the first line of a plan is "hunt v1"`},
		{"hunt v1\nseed x", `p:2: seed: "x" is no number`},
		{"hunt v1", `p:0: a plan begins with the lines "hunt v1" and "seed N"`},
		{"hunt v1\nseed 1\nseed 2", "p:3: seed: a line begins with seed (once), fault or #"},
		{"hunt v1\nseed 1\nfault crash-after operator", "p:3: fault: it has a name, a site of six fields"},
		{"hunt v1\nseed 1\nfault explode o c d/a create Task #1", `p:3: fault: "explode" is no fault`},
		{"hunt v1\nseed 1\nfault lose o c a create Task #1", `p:3: key: "a" is not namespace/name`},
		{"hunt v1\nseed 1\nfault lose o c d/a create Task #0", `p:3: site: "#0" is not # and a number from 1`},
		{"hunt v1\nseed 1\nfault lose o c d/a create Task 1", `p:3: site: "1" is not # and a number from 1`},
		{"hunt v1\nseed 1\nfault lose o c d/a invent Task #1", `p:3: site: "invent" is none of create, update`},
		{"hunt v1\nseed 1\nfault lag o c d/a create Task #1", "p:3: site: lag strikes at what a process sees, not at a write"},
		{"hunt v1\nseed 1\nfault lose o sees d/a ADDED Task #1", "p:3: site: lose strikes at a write, not at what a process sees"},
		{"hunt v1\nseed 1\nfault lose o c d/a create Task #1 for=1s", "p:3: for: lose has no such parameter"},
		{"hunt v1\nseed 1\nfault crash-after o c d/a create Task #1 for=-1s", `p:3: for: "-1s" is no duration above 0`},
		{"hunt v1\nseed 1\nfault refuse o c d/a create Task #1 code=404", `p:3: code: "404" is none of 409`},
		{"hunt v1\nseed 1\nfault refuse o c d/a create Task #1 times=0", `p:3: times: "0" is no number from 1`},
		{"hunt v1\nseed 1\nfault skew o c d/a create Task #1 by=0s", `p:3: by: "0s" is no duration up to 1h0m0s that is not 0`},
		{"hunt v1\nseed 1\nfault delete o c d/a create Task #1 policy=now", `p:3: policy: "now" is none of background, foreground, orphan`},
		{"hunt v1\nseed 1\nfault fail-pod o c d/a create Pod #1", "p:3: site: fail-pod strikes at what a process sees, not at a write"},
		{"hunt v1\nseed 1\nfault pause o sees d/a ADDED Task #1", "p:3: site: pause strikes at a write, not at what a process sees"},
		{"hunt v1\nseed 1\nfault refuse \"o c d/a create Task #1", "p:3: fault: a quotation mark is missing"},
	} {
		_, err := hunt.ParsePlan("p", c.line)
		var at *hunt.PlanError
		require.ErrorAs(t, err, &at, c.line)
		require.True(t, strings.HasPrefix(err.Error(), c.want), "%s\nis not %s", err, c.want)
	}
}

func FuzzParsePlan(f *testing.F) {
	f.Add(planText)
	f.Fuzz(func(t *testing.T, text string) {
		plan, err := hunt.ParsePlan("p", text)
		if err != nil {
			return
		}
		again, err := hunt.ParsePlan("p", plan.String())
		require.NoError(t, err, plan.String())
		require.Equal(t, plan, again)
	})
}

func TestAPlanWhoseSitesDoNotOccurIsRefused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.hunt")
	play := func(fault string) error {
		require.NoError(t, os.WriteFile(name, []byte("# one\nhunt v1\nseed 1\n"+fault), 0o600))
		_, err := hunt.Replay(mutantOptions(1), statusAsMemory(false), name)
		return err
	}
	require.NoError(t, play("fault lose operator store default/a create Task #1\n"))
	require.EqualError(t, play("fault lose operator store default/a create Task #1\nfault lose operator store default/a create Task #9\n"),
		name+":5: site: operator store default/a create Task #9 does not occur in this run")
	_, err := hunt.Replay(mutantOptions(1), statusAsMemory(false), filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestPlansThatAreCutOff cuts the file of a plan at every byte: what is played has only faults of the
// plan, and a cut within a line is an error with the line.
func TestPlansThatAreCutOff(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.hunt")
	for cut := range len(planText) {
		text := planText[:cut]
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
		plan, err := hunt.ParsePlan(name, text)
		if err == nil && strings.HasSuffix(text, "\n") {
			require.True(t, strings.HasPrefix(planText, plan.String()))
			continue
		}
		_, err = hunt.Replay(hunt.Options{}, func(*hunt.Run) { t.Fatal("it is played") }, name)
		var fault *hunt.PlanError
		require.ErrorAs(t, err, &fault, "cut at %d", cut)
		if !strings.HasSuffix(text, "\n") && cut > 0 {
			require.Equal(t, 1+strings.Count(text, "\n"), fault.Line)
		}
	}
}
