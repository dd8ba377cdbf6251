package staged_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/race"
	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

var (
	histories = flag.Uint64("histories", 10_000, "how many random histories TestHistories plays")
	firstSeed = flag.Uint64("history", 0, "the seed of the first history")
)

// A variant is a version of the spec that a history uses.
type variant struct {
	policy        *staged.Policy
	keep, updates bool
	reports       int // where it is seen who has reported: 0 nowhere, 1 Reports, 2 rows of the CombinedStatus
	stages        []stageSpec
	text          string
}

// A stageSpec is a stage of a variant.
type stageSpec struct {
	name, env   string
	batch       int // maxConcurrency; 0: none; -1: perCluster
	soak        int // seconds
	skip        bool
	before      bool   // it needs an approval
	onFailure   string // "": there is no failureCondition
	paused      bool
	mayBeFaulty int // maxFailures
	windows     int // 0: none, 1: for the stage, 2: also for its batches
}

func (s stageSpec) yaml() string {
	lines := []string{"condition: num('ready') == size(destinations)"}
	add := func(when bool, format string, args ...any) {
		if when {
			lines = append(lines, fmt.Sprintf(format, args...))
		}
	}
	add(s.batch > 0, "maxConcurrency: %d", s.batch)
	add(s.batch < 0, "perCluster: {maxUnavailable: %d, progressDeadlineSeconds: 20}", -s.batch)
	add(s.batch < 0 && s.mayBeFaulty > 0, "maxFailures: %d", s.mayBeFaulty)
	add(s.soak > 0, "soak: %ds", s.soak)
	add(s.skip, "skipIfEmpty: true")
	add(s.before, "approval: {before: true}")
	add(s.paused, "paused: true")
	add(s.onFailure != "", "failureCondition: num('bad') > 0")
	add(s.onFailure != "", "onFailure: %s", s.onFailure)
	add(strings.HasPrefix(s.onFailure, "Rollback"), "withdrawFirst: true")
	add(s.windows > 0, "windows: [{cron: '*/2 * * * *', duration: 90s}]") // see isOpen
	add(s.windows > 1, "batchesInWindows: true")
	return stageText(s.name, s.env, lines...)
}

// familySize is how many versions of the spec one history may edit it to and from.
const familySize = 8

// family returns a spec and edits of it: stages that are reordered, renamed, added, left out, and
// fields that change.
func family(t testing.TB, seed uint64) (all []*variant) {
	r := rand.New(rand.NewPCG(seed, 3))
	base := &variant{keep: r.IntN(2) == 0, updates: r.IntN(3) == 0, reports: r.IntN(3)}
	for i := range 2 + r.IntN(2) {
		env := string(rune('a' + i))
		base.stages = append(base.stages, randomStage(r, "s"+env, env))
	}
	all = []*variant{base}
	for len(all) < familySize {
		all = append(all, edited(r, all[r.IntN(len(all))]))
	}
	for _, v := range all {
		v.compile(t)
	}
	return all
}

func randomStage(r *rand.Rand, name, env string) stageSpec {
	s := stageSpec{
		name: name, env: env, batch: []int{0, 0, 1, 2, -1, -2}[r.IntN(6)], soak: []int{0, 0, 5}[r.IntN(3)], skip: r.IntN(4) == 0,
		before: r.IntN(6) == 0, onFailure: []string{"", "", "Rollback", "RollbackAll", "Pause", "Continue", "RollbackBatch"}[r.IntN(7)], mayBeFaulty: r.IntN(2),
		windows: []int{0, 0, 0, 1, 2}[r.IntN(5)],
	}
	if s.onFailure == "RollbackBatch" && s.batch <= 0 {
		s.onFailure = ""
	}
	if s.batch == 0 {
		s.windows = min(s.windows, 1)
	}
	return s
}

func edited(r *rand.Rand, from *variant) *variant {
	v := &variant{keep: from.keep, updates: from.updates, reports: from.reports, stages: slices.Clone(from.stages)}
	i, j := r.IntN(len(v.stages)), r.IntN(len(v.stages))
	switch r.IntN(10) {
	case 0:
		v.stages[i], v.stages[j] = v.stages[j], v.stages[i]
	case 1:
		v.stages[i].name += "x"
	case 2:
		if len(v.stages) < 4 {
			v.stages = slices.Insert(v.stages, i, randomStage(r, fmt.Sprintf("n%d", len(v.stages)), string(rune('a'+r.IntN(3)))))
		}
	case 3:
		if len(v.stages) > 2 {
			v.stages = slices.Delete(v.stages, i, i+1)
		}
	case 4:
		v.keep = !v.keep
	case 5:
		v.stages[i].paused = true
	case 6:
		v.stages[i].env = string(rune('a' + r.IntN(3)))
	case 7:
		v.updates = !v.updates
	default:
		fresh := randomStage(r, v.stages[i].name, v.stages[i].env)
		v.stages[i] = fresh
	}
	names := map[string]bool{}
	for n := range v.stages {
		for names[v.stages[n].name] {
			v.stages[n].name += "y"
		}
		names[v.stages[n].name] = true
	}
	return v
}

func (v *variant) compile(t testing.TB) {
	var stages []string
	for i := range v.stages {
		s := &v.stages[i]
		stages = append(stages, s.yaml())
	}
	v.text = policyText(stages...)
	if v.keep {
		v.text += keep
	}
	if v.updates {
		v.text += "  updates: Staged\n  requireEvidence: None\n"
	}
	v.policy = compile(t, v.text)
}

func (v *variant) index(name string) int {
	return slices.IndexFunc(v.stages, func(s stageSpec) bool { return s.name == name })
}

// An op is something that happens in a history. Its numbers choose the details.
type op struct {
	kind    string
	a, b, c uint32
}

// opKinds are the kinds of ops, each as often as it is likely.
var opKinds = slices.Concat(
	slices.Repeat([]string{"round"}, 6), slices.Repeat([]string{"player"}, 24), slices.Repeat([]string{"kubestellar"}, 6),
	slices.Repeat([]string{"ready"}, 4), slices.Repeat([]string{"time"}, 4), slices.Repeat([]string{"edit"}, 2),
	[]string{"retry", "bad", "join", "leave", "relabel", "approve", "lose", "crash", "crash", "gone", "workload", "workload", "silent", "clock", "drift"},
)

func randomOps(r *rand.Rand) []op {
	ops := make([]op, 10+r.IntN(25))
	for i := range ops {
		ops[i] = op{opKinds[r.IntN(len(opKinds))], r.Uint32(), r.Uint32(), r.Uint32()}
	}
	return ops
}

// TestHistories plays random histories against the invariants of the package comment, by a model of
// its own: what the hub holds, who reads what when, and what each invariant means there. A history
// that breaks one is made shorter as long as it breaks the same one, and printed.
func TestHistories(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // little lives long
	n := *histories
	if testing.Short() || race.On {
		n = min(n, 1000)
	}
	families := make([][]*variant, 256) // compiled when a history needs them
	stats := map[string]int{}
	for seed := *firstSeed; seed < *firstSeed+n; seed++ {
		r := rand.New(rand.NewPCG(seed, 11))
		variants := families[seed%uint64(len(families))]
		if variants == nil {
			variants = family(t, seed%uint64(len(families)))
			families[seed%uint64(len(families))] = variants
		}
		ops := randomOps(r)
		if fault := play(variants, ops, stats); fault != "" {
			short := shrink(variants, ops, fault)
			require.Fail(t, "invariant broken", "seed %d: %s\n%s", seed, fault, describe(variants, short))
		}
		if seed%100_000 == 99_999 {
			t.Logf("%d histories", seed+1)
		}
	}
	t.Logf("%d histories from seed %d: %v", n, *firstSeed, stats)
}

// kindOf is the invariant that a fault breaks, and how, without names.
func kindOf(fault string) string {
	words := strings.Fields(fault)
	return strings.Join(words[:min(2, len(words))], " ")
}

// shrink leaves out ops as long as the same invariant is broken.
func shrink(variants []*variant, ops []op, fault string) []op {
	for size := len(ops) / 2; size > 0; {
		shorter := false
		for i := 0; i+size <= len(ops); {
			without := slices.Delete(slices.Clone(ops), i, i+size)
			if found := play(variants, without, map[string]int{}); kindOf(found) == kindOf(fault) {
				ops, shorter = without, true
			} else {
				i += size
			}
		}
		if !shorter {
			size /= 2
		}
	}
	return ops
}

func describe(variants []*variant, ops []op) string {
	m := newModel(variants)
	m.verbose = true
	for _, o := range ops {
		m.step(o)
	}
	if m.fault == "" {
		m.end()
	}
	return fmt.Sprintf("%d ops:\n%s\n%s", len(ops), strings.Join(slices.Compact(m.log), "\n"), variants[m.hub.variant].text)
}

// play plays a history, and returns which invariant it breaks, and how; "" if none.
func play(variants []*variant, ops []op, stats map[string]int) string {
	m := newModel(variants)
	for _, o := range ops {
		if m.step(o); m.fault != "" {
			return m.fault
		}
	}
	m.end()
	for _, rec := range m.hub.status.Stages {
		stats[string(rec.Phase)]++
	}
	stats["writes"] += m.writes
	stats["decisions"] += m.decisions
	stats["conflicts"] += m.conflicts
	stats["updates"] += m.updates
	stats["end after clusters report again"] += m.reportedAgain
	stats["removals overtaken"] += m.overtaken
	return m.fault
}

var _ = v1alpha1.Pending
