package player_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// A design is a spec of the StagedBindingPolicy, as the model understands it.
type design struct {
	keep, staged, none, restart, paused bool
	stages                              []plannedStage
}

// A plannedStage is a stage of a design.
type plannedStage struct {
	name, key, value  string // the name, and the label that selects
	concurrency       int    // maxConcurrency; negative: perCluster
	soak, deadline    int    // seconds
	delivery          int    // deliveryDeadlineSeconds
	before, after     bool   // approvals
	onFailure         string
	skip, withdraw    bool
	windows, faultily bool
	paused            bool
}

func (s plannedStage) selects(labels map[string]any) bool { return labels[s.key] == s.value }

func (s plannedStage) yaml() string {
	lines := []string{"  - name: " + s.name, fmt.Sprintf("clusterSelectors: [{matchLabels: {%s: %s}}]", s.key, s.value), "condition: num('ready') == size(destinations)"}
	add := func(when bool, format string, args ...any) {
		if when {
			lines = append(lines, fmt.Sprintf(format, args...))
		}
	}
	add(s.concurrency > 0, "maxConcurrency: %d", s.concurrency)
	deadline := ""
	if s.deadline > 0 {
		deadline = fmt.Sprintf(", progressDeadlineSeconds: %d", s.deadline)
	}
	add(s.concurrency < 0, "perCluster: {maxUnavailable: %d%s}", -s.concurrency, deadline)
	add((s.concurrency < 0 || s.delivery > 0) && s.faultily, "maxFailures: 1")
	add(s.delivery > 0, "deliveryDeadlineSeconds: %d", s.delivery)
	add(s.concurrency >= 0 && s.deadline > 0, "progressDeadlineSeconds: %d", s.deadline)
	add(s.soak > 0, "soak: %ds", s.soak)
	add(s.before || s.after, "approval: {before: %t, after: %t}", s.before, s.after)
	add(s.onFailure != "", "failureCondition: num('bad') > 0\n    onFailure: %s", s.onFailure)
	add(s.withdraw, "withdrawFirst: true")
	add(s.skip, "skipIfEmpty: true")
	add(s.paused, "paused: true")
	add(s.windows, "windows: [{cron: '*/2 * * * *', duration: 90s}]") // see isOpen
	return strings.Join(lines, "\n    ") + "\n"
}

// yaml is the spec. Indented lines follow.
func (d design) yaml() string {
	var b strings.Builder
	b.WriteString("  downsync: [{statusCollectors: [agg], objectSelectors: [{matchLabels: {app: web}}]}]\n  revisions: {settle: 2s}\n")
	for line, is := range map[string]bool{"  retention: Keep\n": d.keep, "  updates: Staged\n": d.staged, "  requireEvidence: None\n": d.none, "  onChange: Restart\n": d.restart, "  paused: true\n": d.paused} {
		if is {
			b.WriteString(line)
		}
	}
	b.WriteString("  stages:\n")
	for _, s := range d.stages {
		b.WriteString(s.yaml())
	}
	return b.String()
}

// index returns the place of a stage; or -1.
func (d design) index(stage string) int {
	return slices.IndexFunc(d.stages, func(s plannedStage) bool { return s.name == stage })
}

// stageOf returns the first stage that selects a cluster; -1 if none does.
func (d design) stageOf(labels map[string]any) int {
	return slices.IndexFunc(d.stages, func(s plannedStage) bool { return s.selects(labels) })
}

// plan is what a ticket is about: what is placed where.
func (d design) plan() (text string) {
	for _, s := range d.stages {
		text += s.name + ":" + s.key + "=" + s.value + " "
	}
	return text
}

func planStage(r *rand.Rand, name, value string) plannedStage {
	s := plannedStage{name: name, key: "env", value: value}
	s.concurrency = []int{0, 0, 0, 1, 2, -1, -2}[r.IntN(7)]
	s.soak = []int{0, 0, 5, 90}[r.IntN(4)]
	s.deadline, s.delivery = []int{0, 0, 30}[r.IntN(3)], []int{0, 0, 0, 20}[r.IntN(4)]
	s.before, s.after = r.IntN(5) == 0, r.IntN(8) == 0
	s.onFailure = []string{"", "", "Pause", "Rollback", "Rollback", "RollbackAll", "RollbackBatch", "Continue"}[r.IntN(8)]
	if s.onFailure == "RollbackBatch" && s.concurrency <= 0 {
		s.onFailure = "Rollback"
	}
	s.withdraw = strings.HasPrefix(s.onFailure, "Rollback") && r.IntN(2) == 0
	s.skip, s.windows, s.faultily = r.IntN(4) == 0, r.IntN(6) == 0, r.IntN(2) == 0
	return s
}

// planAll makes the designs of a history: a first one, and edits of it.
func planAll(r *rand.Rand, kind fleetKind) (all []design) {
	first := design{keep: r.IntN(4) > 0, staged: r.IntN(4) > 0, restart: r.IntN(5) == 0}
	first.none = kind == overHub && r.IntN(8) > 0 || r.IntN(10) == 0
	for i := range 2 + r.IntN(2) {
		first.stages = append(first.stages, planStage(r, "s"+string(rune('a'+i)), string(rune('a'+i))))
	}
	if r.IntN(4) == 0 { // clusters in two stages
		first.stages[0].key, first.stages[0].value = "tier", "t"
	}
	all = []design{first}
	for len(all) < 6 {
		all = append(all, editOf(r, all[r.IntN(len(all))]))
	}
	for _, d := range all {
		for i := range d.stages {
			if kind == overHub { // no delivery is seen there
				d.stages[i].delivery = 0
			}
		}
	}
	return all
}

func editOf(r *rand.Rand, from design) design {
	d := from
	d.stages = slices.Clone(from.stages)
	i, j := r.IntN(len(d.stages)), r.IntN(len(d.stages))
	switch r.IntN(9) {
	case 0:
		d.stages[i], d.stages[j] = d.stages[j], d.stages[i]
	case 1:
		d.stages[i].name += "x"
	case 2:
		if len(d.stages) < 4 {
			d.stages = slices.Insert(d.stages, i, planStage(r, fmt.Sprint("n", len(d.stages)), string(rune('a'+r.IntN(3)))))
		}
	case 3:
		if len(d.stages) > 2 {
			d.stages = slices.Delete(d.stages, i, i+1)
		}
	case 4:
		d.stages[i].name, d.stages[j].name = d.stages[j].name, d.stages[i].name
	case 5:
		d.stages[i].paused = !d.stages[i].paused
	case 6:
		d.stages[i].windows, d.stages[i].soak = !d.stages[i].windows, d.stages[i].soak+5
	default:
		d.stages[i] = planStage(r, d.stages[i].name, d.stages[i].value)
		d.stages[i].key = from.stages[i].key
	}
	names := map[string]bool{}
	for n := range d.stages {
		for names[d.stages[n].name] {
			d.stages[n].name += "y"
		}
		names[d.stages[n].name] = true
	}
	return d
}

// isOpen reports whether the windows of the designs are open.
func isOpen(at time.Time) bool { return at.Minute()%2 == 0 || at.Second() < 30 }
