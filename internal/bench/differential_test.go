package bench

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	cases = flag.Uint64("cases", 4000, "how many generated cases TestDifferential compares")
	from  = flag.Uint64("from", 0, "the seed of the first of them")
	all   = flag.Bool("all", false, "go on after a mismatch, and print one of each kind")
)

// A mismatch is one aspect of one Stage on which the sides disagree.
type mismatch struct {
	aspect string // refused, match, weight, delay, effects or possible
	stage  string // "" for possible and refused
	kwok   string
	ours   string
}

func (m mismatch) String() string {
	return fmt.Sprintf("%s of %q\n  kwok: %s\n  ours: %s", m.aspect, m.stage, m.kwok, m.ours)
}

// sides decides a case on both sides.
func sides(c Case) (kwok, ours Outcome) {
	k, err := NewKwok(c.Stages, Placeholders())
	if err != nil {
		kwok.Refused = err.Error()
	} else {
		kwok = k.Outcome(c.object())
	}
	o, err := NewOurs(c.Text(), Placeholders())
	if err != nil {
		ours.Refused = err.Error()
	} else {
		ours = o.Outcome(c.object())
	}
	return kwok, ours
}

// compare lists what the sides disagree on, differences included.
func compare(kwok, ours Outcome) []mismatch {
	if kwok.Refused != "" && ours.Refused != "" {
		return nil
	}
	if kwok.Refused != "" || ours.Refused != "" {
		return []mismatch{{"refused", "", kwok.Refused, ours.Refused}}
	}
	var found []mismatch
	note := func(aspect, stage, k, o string) {
		if k != o {
			found = append(found, mismatch{aspect, stage, k, o})
		}
	}
	if len(kwok.Stages) != len(ours.Stages) {
		return []mismatch{{"stages", "", fmt.Sprint(len(kwok.Stages)), fmt.Sprint(len(ours.Stages))}}
	}
	for i, k := range kwok.Stages {
		o := ours.Stages[i]
		note("match", k.Stage, k.Match, o.Match)
		if k.Match == "true" && o.Match == "true" {
			note("weight", k.Stage, k.Weight, o.Weight)
			note("delay", k.Stage, k.Delay, o.Delay)
			note("effects", k.Stage, printed(k), printed(o))
		}
	}
	if len(found) == 0 || kwok.Err != "" {
		note("possible", "", fmt.Sprint(kwok.Err, kwok.Possible), fmt.Sprint(ours.Err, ours.Possible))
	}
	return found
}

// printed is the effects of a Stage. How far kwok came before an error does not count: we plan before we send.
func printed(v Verdict) string {
	if v.Failed != "" {
		return "fails"
	}
	lines := make([]string, len(v.Effects))
	for i, e := range v.Effects {
		lines[i] = e.String()
	}
	return strings.Join(lines, "\n        ")
}

// unexplained is what the sides disagree on although no difference is listed for it.
func unexplained(c Case) []mismatch {
	kwok, ours := sides(c)
	return slices.DeleteFunc(compare(kwok, ours), func(m mismatch) bool { return explained(c, kwok, m) })
}

func explained(c Case, kwok Outcome, m mismatch) bool {
	return slices.ContainsFunc(slices.Concat(differences, unlisted), func(d difference) bool {
		return slices.Contains(d.aspects, m.aspect) && d.applies(situation{m, c, kwok})
	})
}

func TestDifferential(t *testing.T) {
	for seed := *from; seed < *from+*cases; seed++ {
		c := generate(seed)
		for _, m := range unexplained(c) {
			small := shrink(c, m)
			t.Errorf("seed %d: %s\n%s", seed, unexplained(small)[0], small)
			if !*all {
				t.FailNow()
			}
		}
	}
}

func FuzzDifferential(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		c := generate(seed)
		if found := unexplained(c); len(found) > 0 {
			small := shrink(c, found[0])
			require.Fail(t, unexplained(small)[0].String(), small.String())
		}
	})
}

func TestCasesFollowFromTheirSeeds(t *testing.T) {
	for seed := range uint64(50) {
		require.Equal(t, generate(seed), generate(seed))
	}
}
