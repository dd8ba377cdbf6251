package hunt

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/files"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/garbage"
)

// The flags of a test with hunts.
var (
	replayFlag = flag.String("hunt.replay", "", "play the plan in a `file` and nothing else, and print the whole story")
	pageFlag   = flag.String("hunt.page", "", "write the first failure also as a page, an HTML `file`")
	runsFlag   = flag.Int("hunt.runs", 0, "how many runs a hunt makes at most")
	timeFlag   = flag.Duration("hunt.time", 0, "how long a hunt searches; it then makes as many runs as there is time for")
)

// Test plays the plans of the corpus, each as a subtest, and then searches for more. A failure is
// printed with its story, written into the corpus, and fails the test. With -short a search makes
// 100 runs; the flags -hunt.runs and -hunt.time have precedence over the options. With -hunt.replay
// FILE only that plan is played. With -hunt.page FILE the first failure is also written as a page. While it searches, Go collects garbage as with GOGC=400, unless that
// variable is set: runs make much garbage and keep little, and so a third more of them fit in a second.
func Test(t *testing.T, o Options, scenario func(*Run)) {
	t.Helper()
	o.Corpus = cmp.Or(o.Corpus, filepath.Join("testdata", "hunt", fileName(t.Name())))
	if *replayFlag != "" {
		out := replay(t, o, scenario, *replayFlag)
		t.Logf("the whole story\n%s", strings.Join(texts(out.Story), "\n"))
		writePage(t, out.failures())
		return
	}
	plans, _ := filepath.Glob(filepath.Join(o.Corpus, "*.hunt")) // the pattern is well formed
	for _, name := range plans {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".hunt"), func(t *testing.T) { replay(t, o, scenario, name) })
	}
	defer garbage.CollectLess()()
	report, err := Search(o.flagged(testing.Short()), scenario)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	writePage(t, report.Failures)
	for _, f := range report.Failures {
		t.Errorf("%s\n%s", f, o.keep(f))
	}
}

// failures returns what the checks say of a run that was played alone.
func (o *Outcome) failures() (all []Failure) {
	for _, found := range o.Findings {
		all = append(all, Failure{Finding: found, Outcome: o})
	}
	return all
}

// writePage writes the page of the first failure where -hunt.page says.
func writePage(t *testing.T, failures []Failure) {
	t.Helper()
	if *pageFlag == "" || len(failures) == 0 {
		return
	}
	var text bytes.Buffer
	err := failures[0].WriteHTML(&text)
	if err == nil {
		err = files.WriteBytes(*pageFlag, text.Bytes())
	}
	if err != nil {
		t.Error(err)
	}
}

// flagged returns the options with what the flags say.
func (o Options) flagged(short bool) Options {
	switch {
	case *timeFlag > 0:
		o.Time, o.Runs = *timeFlag, 1<<30
	case *runsFlag > 0:
		o.Runs = *runsFlag
	case short:
		o.Runs = min(cmp.Or(o.Runs, 500), 100)
	}
	return o
}

// keep writes a failure into the corpus, and says where. What fails without faults needs no plan.
func (o Options) keep(f Failure) string {
	if f.Run == 0 {
		return ""
	}
	name := filepath.Join(o.Corpus, fileName(f.Check+" "+f.Kind)+".hunt")
	err := os.MkdirAll(o.Corpus, 0o755)
	if err == nil {
		err = files.WriteBytes(name, []byte(f.String()))
	}
	if err != nil {
		return "The plan could not be kept: " + err.Error()
	}
	return "The plan is in " + name + ": with -hunt.replay=" + name + " it is played again; committed, it is a regression test."
}

// fileName makes a name that any file system takes.
func fileName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, s)
}

// replay plays the plan in a file, and fails the test if a check fails, or if a fault struck nothing.
func replay(t *testing.T, o Options, scenario func(*Run), name string) *Outcome {
	t.Helper()
	out, err := Replay(o, scenario, name)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range out.Findings {
		t.Errorf("%s: %s\n%s", name, found, out.Plan)
	}
	return out
}

// Replay plays the plan in a file. A plan that is malformed, cut off within a line, of another
// version, or that has a fault whose site does not occur is a *PlanError. A file that was cut between
// two lines is a plan with fewer faults.
func Replay(o Options, scenario func(*Run), name string) (*Outcome, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if n := len(text); n > 0 && text[n-1] != '\n' {
		return nil, &PlanError{name, 1 + bytes.Count(text, []byte("\n")), "", "the line is cut off: a plan ends with a line break"}
	}
	plan, lines, err := parsePlan(name, string(text))
	if err != nil {
		return nil, err
	}
	out, err := Play(o, scenario, plan)
	if err != nil {
		return nil, err
	}
	for _, f := range out.Missed {
		i := slices.Index(plan.Faults, f)
		return nil, &PlanError{name, lines[i], "site", fmt.Sprintf("%s does not occur in this run", f.At)}
	}
	return out, nil
}

// Fuzz makes the plan the input of a fuzz test: each four bytes are a fault at a site of the run
// without faults. An input whose run fails a check fails the test with its story. The test also fails for
// the reasons of an error of [Search].
func Fuzz(f *testing.F, o Options, scenario func(*Run)) {
	f.Helper()
	h, err := newSearch(o, scenario, o.Seed)
	if err != nil {
		f.Fatal(err)
	}
	if err := h.base.untried(); err != nil {
		f.Fatal(err)
	}
	for _, found := range h.base.Findings {
		f.Fatalf("%s", Failure{Finding: found, Outcome: h.base})
	}
	faults := faultsBySite(h.base)
	for i := range min(len(h.base.Sites), 1<<16) {
		f.Add([]byte{byte(i), byte(i >> 8), byte(i), 0})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		out, err := h.play(h.decode(faults, data))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range out.Findings {
			t.Errorf("%s", Failure{Finding: found, Outcome: out})
		}
	})
}

// maxFuzzed is how many faults an input of a fuzz test may have.
const maxFuzzed = 6

// faultsBySite are the faults that the search tries one by one, by their sites.
func faultsBySite(base *Outcome) map[Site][]Fault {
	faults := map[Site][]Fault{}
	for _, phase := range systematic(base) {
		for _, plan := range phase.plans {
			if len(plan.Faults) == 1 {
				at := plan.Faults[0].At
				faults[at] = append(faults[at], plan.Faults[0])
			}
		}
	}
	return faults
}

// decode makes a plan of bytes: two for the site, one for what happens, one for how long views lag.
func (h *search) decode(faults map[Site][]Fault, data []byte) Plan {
	p := Plan{Seed: h.seed}
	for ; len(data) >= 4 && len(p.Faults) < maxFuzzed && len(h.base.Sites) > 0; data = data[4:] {
		s := h.base.Sites[(int(data[0])|int(data[1])<<8)%len(h.base.Sites)]
		f := faults[s][int(data[2])%len(faults[s])]
		if f.Do == Lag || f.Do == Relist {
			f.For = time.Duration(1+int(data[3])%100) * time.Second
		}
		p.Faults = append(p.Faults, f)
	}
	return p
}
