package bench

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// A pair is the Stages of a case, prepared on both sides.
type pair struct {
	kwok     *Kwok
	ours     *Stagecraft
	refusals Outcome // on our side
	tally    tally
}

func newPair(c Case) (p pair) {
	k, err := NewKwok(c.Stages, Placeholders())
	if err != nil {
		panic(err) // kwok reads everything that is JSON of the right types, and so are cases
	}
	p.kwok = k
	if p.ours, err = NewStagecraft(c, Placeholders()); err != nil {
		p.refusals.Refused = err.Error()
	}
	return p
}

// decide asks both sides about an object.
func (p pair) decide(obj map[string]any) (kwok, ours Outcome) {
	u := &unstructured.Unstructured{Object: obj}
	kwok, ours = p.kwok.Outcome(u), p.refusals
	if ours.Refused == "" {
		ours = p.ours.Outcome(u)
	}
	return kwok, ours
}

// sides decides a case on both sides.
func sides(c Case) (kwok, ours Outcome) { return newPair(c).decide(c.Object) }

// compare lists the disagreements of the sides, including known differences.
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

// printed is the effects of a Stage. How far kwok came before an error does not count: we plan
// before we send.
func printed(v StageOutcome) string {
	if v.Failed != "" {
		return "fails"
	}
	lines := make([]string, len(v.Effects))
	for i, e := range v.Effects {
		lines[i] = e.String()
	}
	return strings.Join(lines, "\n        ")
}

// unexplained lists the disagreements that no known difference explains.
func unexplained(c Case) []mismatch { return newPair(c).unexplained(c) }

func (p pair) unexplained(c Case) []mismatch {
	kwok, ours := p.decide(c.Object)
	p.tally.outcome(kwok)
	return slices.DeleteFunc(compare(kwok, ours), func(m mismatch) bool {
		d, ok := explanation(newSituation(m, c, kwok))
		if ok {
			p.tally.add("difference: " + d.name)
		}
		return ok
	})
}

func newSituation(m mismatch, c Case, kwok Outcome) situation {
	return situation{m, c, kwok, func(s situation) bool {
		_, ok := explanation(s)
		return ok
	}}
}

// explanation is the difference that a disagreement belongs to.
func explanation(s situation) (difference, bool) {
	for _, d := range differences {
		if slices.Contains(d.aspects, s.aspect) && d.applies(s) {
			return d, true
		}
	}
	return difference{}, false
}

// A tally counts the properties of the cases. A nil tally counts nothing.
type tally map[string]int

func (t tally) add(what string) {
	if t != nil {
		t[what]++
	}
}

func (t tally) outcome(kwok Outcome) {
	t.add("cases")
	if kwok.Refused != "" {
		t.add("cases refused")
	}
	for _, v := range kwok.Stages {
		t.add("stages")
		if v.Match == "true" {
			t.add("stages matching")
		}
		if v.Failed != "" {
			t.add("stages whose effects fail")
		}
		for _, e := range v.Effects {
			t.add("effects: " + e.Kind)
		}
	}
}

func (t tally) String() string {
	text := ""
	for _, what := range slices.Sorted(maps.Keys(t)) {
		text += fmt.Sprintf("\n%8d %s", t[what], what)
	}
	return text
}

// perSet is how many objects one set of Stages is tried on: to compile it takes longer than to
// evaluate it.
const perSet = 8

func TestDifferential(t *testing.T) {
	seen := tally{}
	defer func() { t.Log(seen) }()
	for seed := *from; seed < *from+*cases/perSet; seed++ {
		for _, text := range disagreements(seed, seen) {
			t.Errorf("seed %d: %s", seed, text)
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
	f.Fuzz(func(t *testing.T, seed uint64) { require.Empty(t, disagreements(seed, nil)) })
}

// disagreements compares the cases of a seed. It describes unexplained disagreements, with cases as
// small as possible.
func disagreements(seed uint64, seen tally) (texts []string) {
	c := generate(seed)
	p := newPair(c)
	p.tally = seen
	for _, obj := range variants(c, seed, perSet) {
		c.Object = obj
		if found := p.unexplained(c); len(found) > 0 {
			small := shrink(c, found[0])
			found = append(unexplained(small), found...)
			texts = append(texts, found[0].String()+"\n"+small.String())
		}
	}
	return texts
}

func TestCasesFollowFromTheirSeeds(t *testing.T) {
	for seed := range uint64(50) {
		require.Equal(t, generate(seed), generate(seed))
	}
}
