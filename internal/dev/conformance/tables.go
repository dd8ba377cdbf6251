package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// accuracyTables returns the tables of kstatus/ACCURACY.md: the scores without and with arguable
// cases, the scores with one source left out, and the cases that are falsely Current. It returns ""
// without cases.
func accuracyTables(rows []*scoreRow) string {
	if len(rows) == 0 {
		return ""
	}
	var b strings.Builder
	for _, t := range []struct {
		title    string
		arguable bool
	}{{"Without arguable cases", false}, {"With arguable cases", true}} {
		fmt.Fprintf(&b, "\n### %s\n\n", t.title)
		fmt.Fprintln(&b, "| file | cases | Standard | Extended | generic layer |")
		fmt.Fprintln(&b, "|---|---|---|---|---|")
		for _, r := range rows {
			fmt.Fprintf(&b, "| %s | %d |", r.name, r.of(0, t.arguable).total)
			for i := range 3 {
				fmt.Fprintf(&b, " %s |", r.of(i, t.arguable).cell())
			}
			fmt.Fprintln(&b)
		}
	}
	fmt.Fprint(&b, "\n### One source left out\n\n"+leftOut+"\n\n| source | kinds | cases | generic layer |\n|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %d | %d | %s |\n", r.name, len(r.kinds), r.of(3, false).total, r.of(3, false).cell())
	}
	b.WriteString(basisText(rows))
	fmt.Fprint(&b, "\n### Falsely Current\n\n")
	for _, r := range rows {
		for _, v := range r.falseCurrent {
			why := falseCurrentReasons[v.Name]
			if why == "" {
				v.Arguable = "see the corpus"
			}
			fmt.Fprintf(&b, "- `%s`: want %s%s, got %s.\n", v.Name, v.WantStatus, v.remarks(), strings.TrimSuffix(v.got.String(), "."))
			if why != "" {
				fmt.Fprintf(&b, "  %s\n", why)
			}
		}
	}
	return b.String()
}

const leftOut = "The generic layer on the objects of a source, with their group renamed, so that no table knows " +
	"their kinds.\nArguable cases are not counted."

// A scoreRow is the scores of one file, by profile.
type scoreRow struct {
	dir, name      string
	sure, arguable []score
	kinds          map[string]bool
	falseCurrent   []verdict   // of Extended
	verdicts       [][]verdict // by profile; none in a row that sums up files
}

func (r *scoreRow) of(profile int, arguable bool) score {
	s := r.sure[profile]
	if arguable {
		s.join(r.arguable[profile])
	}
	return s
}

// cell prints a score as exact, lenient if there are cases for it, and falsely Current.
func (s score) cell() string {
	out := percent(s.exact, s.total)
	if s.lenient != s.exact {
		out += ", lenient " + percent(s.lenient, s.total)
	}
	return fmt.Sprintf("%s; %d falsely Current (%s)", out, s.falseCurrent, percent(s.falseCurrent, s.total))
}

// scoreRows returns a row for each file, and one for each group of files that are scored together.
func scoreRows(dir string) (rows []*scoreRow, err error) {
	sums := map[string]*scoreRow{}
	for _, file := range healthFiles {
		cases, err := readHealth(dir, file)
		if err != nil {
			return nil, err
		}
		if len(cases) == 0 {
			continue
		}
		r, err := newScoreRow(file, cases)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
		sum := file.together()
		if sum != "" && sums[sum] == nil {
			sums[sum] = emptyScoreRow(file.dir, sum)
		}
		if sum != "" {
			sums[sum].join(r)
		}
	}
	for _, sum := range slices.Sorted(maps.Keys(sums)) {
		rows = append(rows, sums[sum])
	}
	return rows, nil
}

func emptyScoreRow(dir, name string) *scoreRow {
	return &scoreRow{
		dir: dir, name: name, sure: make([]score, len(profiles)), arguable: make([]score, len(profiles)), kinds: map[string]bool{},
	}
}

func newScoreRow(file healthFile, cases []healthCase) (*scoreRow, error) {
	r := &scoreRow{dir: file.dir, name: file.name, kinds: map[string]bool{}}
	for _, c := range cases {
		r.kinds[c.Kind+"."+c.Group] = true
	}
	var err error
	if r.verdicts, err = judge(cases, profiles...); err != nil {
		return nil, err
	}
	for i, p := range profiles {
		sure, arguable := countHealth(r.verdicts[i])
		r.sure, r.arguable = append(r.sure, sure), append(r.arguable, arguable)
		if p.suite == "health" {
			r.falseCurrent = falselyCurrent(r.verdicts[i])
		}
	}
	return r, nil
}

func (r *scoreRow) join(o *scoreRow) {
	for i := range profiles {
		r.sure[i].join(o.sure[i])
		r.arguable[i].join(o.arguable[i])
	}
	for kind := range o.kinds {
		r.kinds[kind] = true
	}
}

func falselyCurrent(verdicts []verdict) (out []verdict) {
	for _, v := range verdicts {
		if !v.deleted && v.got.Status == "Current" && v.WantStatus != "Current" {
			out = append(out, v)
		}
	}
	return out
}
