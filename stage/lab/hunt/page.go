package hunt

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
)

//go:embed page.html
var pageHTML string

// Who speaks in the lines that tell of faults, and of what the hunt itself does.
const (
	whoFault = "fault"
	whoHunt  = "hunt"
)

// WriteHTML writes the failure as one page that loads nothing else: what was found, the faults, and the run
// with a lane for the users and for each process, next to its twin. The error is that of w.
func (f Failure) WriteHTML(w io.Writer) error {
	page, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return err
	}
	return page.Execute(w, f.page())
}

// A page is the data of the page about a failure.
type page struct {
	Title, Found        string
	Differences, Faults []string
	Runs                []pageRun
}

// A pageRun is a table: a row for each line of a story, a column for each lane.
type pageRun struct {
	Title, Text string
	Lanes       []string
	Rows        []pageRow
}

type pageRow struct {
	At, Class string
	Cells     []string
}

func (f Failure) page() page {
	p := page{
		Title:       fmt.Sprintf("%s (%s)", f.Check, f.Kind),
		Found:       "The run without faults fails.",
		Differences: strings.Split(strings.TrimSpace(f.Text), "\n"),
		Runs:        []pageRun{table("The run", "A marked line is the write that is one too many compared with the twin.", f.Outcome.Story)},
	}
	if faults := f.Outcome.Plan.Faults; len(faults) > 0 {
		p.Found = fmt.Sprintf("With seed %d and the faults below, a check fails: “%s”, about %s.", f.Outcome.Plan.Seed, f.Check, f.Kind)
		for _, fault := range faults {
			p.Faults = append(p.Faults, fault.String())
		}
	}
	if twin := f.Outcome.twinStory(); len(twin) > 0 {
		p.Runs = append(p.Runs, table("Its twin", "The same run without the faults of processes: what users do is done while all is at rest. A marked line is missing in the run.", twin))
	}
	return p
}

// twinStory is the twin's story, with the mark of TwinStory.
func (o *Outcome) twinStory() []Line {
	if o.twin == nil || len(o.Plan.Faults) == 0 { // without faults it is the same run
		return nil
	}
	story := slices.Clone(o.twin.Story)
	if len(o.TwinStory) > 0 {
		story[o.missing] = o.TwinStory[0]
	}
	return story
}

// table makes a table of a story.
func table(title, text string, story []Line) pageRun {
	run := pageRun{Title: title, Text: text, Lanes: []string{"user"}}
	for _, l := range story {
		if l.Who != whoFault && l.Who != whoHunt && !slices.Contains(run.Lanes, l.Who) {
			run.Lanes = append(run.Lanes, l.Who)
		}
	}
	for _, l := range story {
		run.Rows = append(run.Rows, run.row(l))
	}
	return run
}

// row puts a line into its lane: a fault into that of its process, what concerns all into the first.
func (run pageRun) row(l Line) pageRow {
	row, who := pageRow{At: "+" + l.At.String(), Cells: make([]string, len(run.Lanes))}, l.Who
	switch {
	case who == whoFault:
		row.Class = "fault"
		_, at, _ := strings.Cut(l.Text, " ")
		who, _, _ = strings.Cut(at, " ") // the process
	case who == whoHunt:
		row.Class = "note"
	case strings.Contains(l.Text, "  <- "):
		row.Class = "mark"
	}
	row.Cells[max(0, slices.Index(run.Lanes, who))] = l.Text
	return row
}
