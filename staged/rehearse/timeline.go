package rehearse

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/stagecraft-go/stagecraft/internal/printable"
	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A Timeline is everything that happened, in order.
type Timeline struct {
	Policy  string // the name of the StagedBindingPolicy
	Start   time.Time
	Entries []Entry
	// Clusters are the revisions that each cluster has had, by name; nil if the hub has held one
	// revision only. The name of a revision is r, its
	// number in the order in which the hub has held them, - and its first digits.
	Clusters []History
	// Lints are what this rehearsal found doubtful about the policy.
	Lints []Lint
	// Succeeded says whether the rollout succeeded. If not, Message says what it waits for.
	Succeeded bool
	Message   string
}

// A History is the revisions of the workload that a cluster has had, in order. One that it has had twice
// is there twice. Never are the other revisions that the hub has held.
type History struct {
	Cluster    string
	Had, Never []string
}

// String prints `cluster prod1 had r1-1fc0681cc12d; never r2-4495a9c3e285`.
func (h History) String() string {
	text := "cluster " + h.Cluster + " had " + cmp.Or(strings.Join(h.Had, ", "), "nothing")
	if len(h.Never) > 0 {
		text += "; never " + strings.Join(h.Never, ", ")
	}
	return printable.Line(text)
}

// An Entry is one thing that happened. At most one of Stage, BindingPolicy and Cluster is set: it
// says what the Entry is about.
type Entry struct {
	At            time.Duration // after the start
	Policy        string        // the name of another policy than that of the Timeline; "": it is about that one
	Stage         string
	BindingPolicy string
	Cluster       string
	Text          string
	Waiting       bool // the Entry says what the rollout waits for
}

// String prints `+3.2s  stage dev: started`.
func (e Entry) String() string { return e.line(timeWidth) }

// timeWidth is the least width of the times of entries.
const timeWidth = len("+1h30m0.5s")

// line prints the entry with the time in a column of this width.
func (e Entry) line(width int) string {
	indent := ""
	if e.Waiting {
		indent = "    "
	}
	return printable.Line(fmt.Sprintf("%-*s %s%s%s", width, e.when(), indent, e.about(), e.Text))
}

func (e Entry) when() string { return "+" + round(e.At).String() }

// about prints `stage dev: `.
func (e Entry) about() string {
	text := ""
	if e.Policy != "" {
		text = "policy " + e.Policy + ": "
	}
	if kind, name := e.subject(); kind != "" {
		text += kind + " " + name + ": "
	}
	return text
}

// subject returns what the entry is about: a stage, BindingPolicy or cluster, and its name; "" if none.
func (e Entry) subject() (kind, name string) {
	for _, s := range [][2]string{{"stage", e.Stage}, {"BindingPolicy", e.BindingPolicy}, {"cluster", e.Cluster}} {
		if s[1] != "" {
			return s[0], s[1]
		}
	}
	return "", ""
}

// A Lint is something doubtful about a stage, or, with Stage "", about the policy.
type Lint struct {
	Stage string
	Text  string
}

// String prints `lint: stage dev: …`.
func (l Lint) String() string {
	if l.Stage == "" {
		return "lint: " + printable.Line(l.Text)
	}
	return printable.Line(fmt.Sprintf("lint: stage %s: %s", l.Stage, l.Text))
}

// String prints one line an entry, then the lints, then how it ended.
func (t *Timeline) String() string {
	var b strings.Builder
	width := timeWidth
	for _, e := range t.Entries {
		width = max(width, len(e.when()))
	}
	for _, e := range t.Entries {
		fmt.Fprintln(&b, e.line(width))
	}
	for _, h := range t.Clusters {
		fmt.Fprintln(&b, h)
	}
	for _, l := range t.Lints {
		fmt.Fprintln(&b, l)
	}
	if !t.Succeeded {
		fmt.Fprintln(&b, "not succeeded:", printable.Line(t.Message))
	}
	return b.String()
}

// The texts of entries that lints and charts look for.
const (
	textCreated   = "created"
	textRemoved   = "removed"
	textSatisfied = "satisfied"
	textNoLonger  = "satisfied no longer"
	textArrives   = " arrives"
	textChanged   = " changes"
	textGone      = " is gone"
)

// phaseTexts are the texts of the phases in which a stage ends or stays.
var phaseTexts = map[v1alpha1.Phase]string{
	v1alpha1.Succeeded: "succeeded", v1alpha1.Skipped: "skipped", v1alpha1.Failed: "failed", v1alpha1.RolledBack: "rolled back",
}

// record records an entry with the present time.
func (r *run) record(e Entry) {
	e.At = r.now.Sub(r.in.Start)
	r.timeline.Entries = append(r.timeline.Entries, e)
}

// record records an entry about one policy.
func (r *policyRun) record(e Entry) {
	if r != r.main() {
		e.Policy = r.policy.Name()
	}
	r.run.record(e)
}

// explain records what the rollout waits for, without the lines of the last explanation.
func (r *policyRun) explain() {
	lines := map[string]bool{}
	for _, l := range r.rollout.Explain(r.object.Status, r.now) {
		if l.Satisfaction == staged.Satisfied {
			continue
		}
		line := l.String()
		if lines[line] = true; !r.lastLines[line] {
			r.record(Entry{Text: line, Waiting: true})
		}
	}
	r.lastLines = lines
}

// compare records what a decision changes.
func (r *policyRun) compare(d bindingpolicy.Decision) {
	for i, s := range d.Status.Stages {
		var old v1alpha1.StageStatus
		if i < len(r.object.Status.Stages) {
			old = r.object.Status.Stages[i]
		}
		stays := s.Name == d.Status.ActiveStage && s.Name == r.object.Status.ActiveStage && s.StartedBatches == old.StartedBatches
		switch {
		case s.SatisfiedSince != nil && old.SatisfiedSince == nil:
			r.record(Entry{Stage: s.Name, Text: textSatisfied})
		case s.SatisfiedSince == nil && old.SatisfiedSince != nil && stays:
			r.record(Entry{Stage: s.Name, Text: textNoLonger})
		}
		if text := phaseTexts[s.Phase]; text != "" && s.Phase != old.Phase {
			r.record(Entry{Stage: s.Name, Text: text})
		}
	}
	for _, e := range d.Events {
		r.record(Entry{Text: e.Reason + ": " + e.Message})
	}
	succeeded := meta.IsStatusConditionTrue(d.Status.Conditions, "Succeeded")
	r.message, r.done = d.Message, succeeded && len(d.Remove) == 0
	if r == r.main() {
		r.timeline.Message, r.timeline.Succeeded = d.Message, succeeded
	}
}
