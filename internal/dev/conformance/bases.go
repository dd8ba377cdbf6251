package main

import (
	"fmt"
	"strings"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// bases are the possible bases of verdicts, the best first.
var bases = []kstatus.Basis{kstatus.BasisKind, kstatus.BasisConvention, kstatus.BasisWords, kstatus.BasisGuess}

// A basisScore counts verdicts by their basis; 0 counts all of them.
type basisScore map[kstatus.Basis]*currentScore

// A currentScore also counts the verdicts that are Current.
type currentScore struct {
	score
	current int
}

func (s basisScore) add(v verdict) {
	for _, b := range []kstatus.Basis{v.got.Basis, 0} {
		if s[b] == nil {
			s[b] = &currentScore{}
		}
		s[b].score.add(v)
		if v.got.Status == kstatus.Current {
			s[b].current++
		}
	}
}

// A basisTable is a set of cases that is scored by basis.
type basisTable struct {
	title   string
	suite   string // the profile
	counted func(healthFile, healthCase) bool
}

var basisTables = []basisTable{
	{"Extended, `health`", "health", func(f healthFile, _ healthCase) bool { return f.dir == "health" }},
	{"Extended, `health-3`", "health", func(f healthFile, _ healthCase) bool { return f.dir == "health-3" }},
	{"one source left out, custom resources", "health-unknown", func(_ healthFile, c healthCase) bool { return !isBuiltIn(c) }},
	{"one source left out, custom resources of `health`", "health-unknown", func(f healthFile, c healthCase) bool { return f.dir == "health" && !isBuiltIn(c) }},
	{"one source left out, custom resources of `health-3`", "health-unknown", func(f healthFile, c healthCase) bool { return f.dir == "health-3" && !isBuiltIn(c) }},
	{"one source left out, all", "health-unknown", func(healthFile, healthCase) bool { return true }},
}

// isBuiltIn reports whether the kind of a case is part of Kubernetes, so that it always has a rule.
func isBuiltIn(c healthCase) bool {
	return builtInGroups[c.Group]
}

// builtInGroups are the groups of Kubernetes in the corpus.
var builtInGroups = map[string]bool{
	"": true, "apps": true, "batch": true, "extensions": true, "policy": true, "autoscaling": true,
	"apiextensions.k8s.io": true, "apiregistration.k8s.io": true, "networking.k8s.io": true,
}

// basisText returns the tables by basis, arguable cases not counted.
func basisText(rows []*scoreRow) string {
	var b strings.Builder
	b.WriteString("\n### What verdicts rest on\n\n" + basisNote + "\n\n" +
		"| cases | basis | verdicts | exact | falsely Current | of the verdicts Current |\n|---|---|---|---|---|---|\n")
	for _, t := range basisTables {
		s := t.score(rows)
		for _, basis := range append(bases, 0) {
			if c := s[basis]; c != nil {
				fmt.Fprintf(&b, "| %s | %s | %d | %s | %d (%s) | %s of %d |\n", t.title, basisName(basis), c.total,
					percent(c.exact, c.total), c.falseCurrent, percent(c.falseCurrent, c.total), percent(c.falseCurrent, c.current), c.current)
			}
		}
	}
	b.WriteString("\n" + fileNote + "\n\n| file | Kind | Convention | Words | Guess |\n|---|---|---|---|---|\n")
	for _, r := range rows {
		if len(r.verdicts) == 0 {
			continue
		}
		s := basisTable{suite: "health", counted: func(healthFile, healthCase) bool { return true }}.score([]*scoreRow{r})
		fmt.Fprintf(&b, "| %s |", r.name)
		for _, basis := range bases {
			fmt.Fprintf(&b, " %s |", s[basis].cell())
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

// cell prints the score of a basis in a file: exact of all, and how many falsely Current.
func (c *currentScore) cell() string {
	if c == nil {
		return "-"
	}
	out := fmt.Sprintf("%d of %d", c.exact, c.total)
	if c.falseCurrent > 0 {
		out += fmt.Sprintf(", %d falsely Current", c.falseCurrent)
	}
	return out
}

const fileNote = "Extended, each file by basis: how many are exact, and how many falsely Current, without arguable cases."

const basisNote = "Without arguable cases. The fifth column counts against all verdicts of the basis, the sixth against its verdicts\nCurrent alone."

func basisName(b kstatus.Basis) string {
	if b == 0 {
		return "all"
	}
	return b.String()
}

// score counts the verdicts of the rows of files.
func (t basisTable) score(rows []*scoreRow) basisScore {
	out := basisScore{}
	for _, r := range rows {
		for i, verdicts := range r.verdicts {
			if profiles[i].suite != t.suite {
				continue
			}
			for _, v := range verdicts {
				if !v.deleted && v.Arguable == "" && t.counted(healthFile{r.dir, r.name}, v.healthCase) {
					out.add(v)
				}
			}
		}
	}
	return out
}
