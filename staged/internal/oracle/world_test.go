package oracle_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

var t0 = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

type stg struct {
	name     string
	key, val string // selector
	mc       int    // >0 maxConcurrency, <0 perCluster
	soak     int
	before   bool
	after    bool
	fail     string
	deadline int
	skip     bool
	paused   bool
	window   int // 0 none 1 yes
}
type spc struct {
	keep, staged, restart, paused bool
	st                            []stg
	pol                           *staged.Policy
	text                          string
}

func (s spc) yaml() string {
	var b strings.Builder
	b.WriteString("apiVersion: community.kubestellar.io/v1alpha1\nkind: StagedBindingPolicy\n" +
		"metadata: {name: s}\nspec:\n  downsync: [{statusCollectors: [agg], resources: [deployments]}]\n")
	if s.keep {
		b.WriteString("  retention: Keep\n")
	}
	if s.staged {
		b.WriteString("  updates: Staged\n")
	}
	if s.restart {
		b.WriteString("  onChange: Restart\n")
	}
	if s.paused {
		b.WriteString("  paused: true\n")
	}
	b.WriteString("  stages:\n")
	for _, t := range s.st {
		fmt.Fprintf(&b, "  - name: %s\n    clusterSelectors: [{matchLabels: {%s: %s}}]\n    condition: num('ready') == size(destinations)\n", t.name, t.key, t.val)
		if t.mc > 0 {
			fmt.Fprintf(&b, "    maxConcurrency: %d\n", t.mc)
		}
		if t.mc < 0 {
			fmt.Fprintf(&b, "    perCluster: {maxUnavailable: %d}\n", -t.mc)
		}
		if t.soak > 0 {
			fmt.Fprintf(&b, "    soak: %ds\n", t.soak)
		}
		if t.before || t.after {
			fmt.Fprintf(&b, "    approval: {before: %v, after: %v}\n", t.before, t.after)
		}
		if t.fail != "" {
			fmt.Fprintf(&b, "    failureCondition: num('bad') > 0\n    onFailure: %s\n    withdrawFirst: true\n", t.fail)
		}
		if t.deadline > 0 && t.mc >= 0 {
			fmt.Fprintf(&b, "    progressDeadlineSeconds: %d\n", t.deadline)
		}
		if t.skip {
			b.WriteString("    skipIfEmpty: true\n")
		}
		if t.paused {
			b.WriteString("    paused: true\n")
		}
		if t.window > 0 {
			b.WriteString("    windows: [{cron: '*/3 * * * *', duration: 100s}]\n")
		}
	}
	return b.String()
}

func comp(t testing.TB, y string) *staged.Policy {
	t.Helper()
	ps, err := staged.Compile(staged.Options{}, staged.Parse("p.yaml", []byte(y)))
	if err != nil {
		t.Fatalf("%v\n%s", err, y)
	}
	return ps[0]
}

func rstage(r *rand.Rand, i int) stg {
	s := stg{name: "s" + strconv.Itoa(i), key: "env", val: string(rune('a' + i))}
	s.mc = []int{0, 0, 0, 1, 2, -1, -2}[r.IntN(7)]
	s.soak = []int{0, 0, 5, 60}[r.IntN(4)]
	s.before = r.IntN(5) == 0
	s.after = r.IntN(8) == 0
	s.fail = []string{"", "", "Pause", "Rollback", "RollbackAll", "RollbackBatch", "Continue"}[r.IntN(7)]
	if s.fail == "RollbackBatch" && s.mc <= 0 {
		s.fail = "Rollback"
	}
	s.deadline = []int{0, 0, 0, 30}[r.IntN(4)]
	s.skip = r.IntN(5) == 0
	s.window = []int{0, 0, 0, 1}[r.IntN(4)]
	return s
}

func family(t testing.TB, seed uint64) []*spc {
	r := rand.New(rand.NewPCG(seed, 99))
	base := &spc{keep: r.IntN(3) > 0, staged: r.IntN(2) == 0, restart: r.IntN(4) == 0}
	for i := range 2 + r.IntN(2) {
		base.st = append(base.st, rstage(r, i))
	}
	if r.IntN(3) == 0 { // a stage by another label: clusters in two stages
		base.st[0].key, base.st[0].val = "tier", "t"
	}
	all := []*spc{base}
	for len(all) < 6 {
		f := all[r.IntN(len(all))]
		v := &spc{keep: f.keep, staged: f.staged, restart: f.restart, paused: f.paused, st: slices.Clone(f.st)}
		i, j := r.IntN(len(v.st)), r.IntN(len(v.st))
		switch r.IntN(9) {
		case 0:
			v.paused = !v.paused
		case 1:
			v.st[i].name += "x"
		case 2:
			v.st[i], v.st[j] = v.st[j], v.st[i]
		case 3:
			v.st[i].soak += 5
		case 4:
			v.st[i].mc = []int{0, 1, 2, -1}[r.IntN(4)]
			if v.st[i].mc <= 0 && v.st[i].fail == "RollbackBatch" {
				v.st[i].fail = ""
			}
		case 5:
			v.st[i].window = 1 - v.st[i].window
		case 6:
			if len(v.st) < 4 {
				v.st = slices.Insert(v.st, i, rstage(r, 3))
				v.st[i].name, v.st[i].val = "n"+strconv.Itoa(len(all)), string(rune('a'+r.IntN(3)))
			}
		case 7:
			v.st[i].name, v.st[j].name = v.st[j].name, v.st[i].name // names are swapped
		default:
			v.paused = !v.paused
		}
		all = append(all, v)
	}
	for _, v := range all {
		v.text = v.yaml()
		v.pol = comp(t, v.text)
	}
	return all
}

type hub struct {
	gen, rv, variant int
	ann              map[string]string
	st               v1alpha1.Status
	bps              map[string]*control.BindingPolicy
	binds            map[string]*control.Binding
	sts              map[string]*control.CombinedStatus
	reps             []bindingpolicy.Report
	work             *fleet.Workload
	told             []fleet.Cluster
	cl               map[string]map[string]string
	counter          int
}

type wec struct {
	has      bool
	version  int
	since    time.Time
	health   int // 0 good, 1 bad, 2 flapping, 3 never ready
	delay    time.Duration
	repHas   bool
	repVer   int
	repReady bool
	repBad   bool
	repAt    time.Time
	ever     bool // was reported ready in this presence
	everVer  int  // newest version that was reported ready
}

type ply struct {
	timed   bool // an answer of the hub has told it the time
	skew    time.Duration
	view    hub
	pend    []wr
	decided hub
	at      time.Time
}
type wr struct {
	kind, name string
	want       *control.BindingPolicy
	d          bindingpolicy.Decision
}

type op struct {
	kind    string
	a, b, c uint32
}

type sim struct {
	vs      []*spc
	now     time.Time
	h       hub
	snaps   []hub
	w       map[string]*wec
	workV   int
	uid     int
	p       []*ply
	verbose bool
	log     []string
	fault   string

	approveSeq, revSeq, seq int
	apprVals                map[string]int
	fulfilled               map[string]bool
	clean                   bool // since the last workload op nothing but health, time, players, gates happened
	cleanV                  int
	restored                bool
	edited, relabelled      bool
	removedGen              map[string]int    // the generation under which a cluster's BindingPolicy was removed or narrowed
	removedFor              map[string]string // the revision that was wanted then
	seenAppr                map[string]int
	enteredReal             map[string]time.Time
	everDone                bool // is Succeeded since the last thing that may undo it
	noReports               bool
	maxSkew                 time.Duration
}

func newSim(vs []*spc, r *rand.Rand, players int, skew time.Duration) *sim {
	s := &sim{vs: vs, now: t0, w: map[string]*wec{}, apprVals: map[string]int{}, fulfilled: map[string]bool{}, removedGen: map[string]int{}, removedFor: map[string]string{}, seenAppr: map[string]int{}, enteredReal: map[string]time.Time{}, maxSkew: skew}
	s.h = hub{gen: 1, rv: 1, ann: map[string]string{}, bps: map[string]*control.BindingPolicy{}, binds: map[string]*control.Binding{}, sts: map[string]*control.CombinedStatus{}, cl: map[string]map[string]string{}}
	for _, e := range []string{"a", "b", "c"} {
		for k := range 1 + r.IntN(3) {
			n := fmt.Sprintf("%s%d", e, k)
			l := map[string]string{"env": e, "name": n}
			if r.IntN(3) == 0 {
				l["tier"] = "t"
			}
			s.h.cl[n] = l
			s.w[n] = &wec{}
		}
	}
	for i := range players {
		sk := time.Duration(0)
		if i > 0 && skew > 0 {
			sk = time.Duration(r.Int64N(int64(2*skew))) - skew
		}
		s.p = append(s.p, &ply{skew: sk, view: s.h})
	}
	return s
}

func (s *sim) note(f string, a ...any) {
	if s.verbose {
		s.log = append(s.log, fmt.Sprintf("%s ", s.now.Format("15:04:05"))+fmt.Sprintf(f, a...))
	}
}
func (s *sim) broken(f string, a ...any) {
	if s.fault == "" {
		s.fault = fmt.Sprintf(f, a...)
		s.note("BROKEN %s", s.fault)
	}
}
func (s *sim) v() *spc { return s.vs[s.h.variant] }

func sel(p *control.BindingPolicy, l map[string]string) bool {
	for i := range p.Spec.ClusterSelectors {
		x, err := metav1.LabelSelectorAsSelector(&p.Spec.ClusterSelectors[i])
		if err == nil && x.Matches(labels.Set(l)) {
			return true
		}
	}
	return false
}

func (s *sim) bind() {
	old := s.h.binds
	s.h.binds = map[string]*control.Binding{}
	for n, p := range s.h.bps {
		if p.DeletionTimestamp != nil {
			continue
		}
		b := &control.Binding{ObjectMeta: metav1.ObjectMeta{Name: n, OwnerReferences: []metav1.OwnerReference{{UID: p.UID}}}}
		for c, l := range s.h.cl {
			if sel(p, l) {
				b.Spec.Destinations = append(b.Spec.Destinations, control.Destination{ClusterID: c})
			}
		}
		slices.SortFunc(b.Spec.Destinations, func(x, y control.Destination) int { return strings.Compare(x.ClusterID, y.ClusterID) })
		b.Spec.Workload.NamespaceScope = []control.DownsyncClause{{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "n", Name: "web", ResourceVersion: strconv.Itoa(s.workV + 1),
			DownsyncModulation: control.DownsyncModulation{CreateOnly: p.Spec.Downsync[0].CreateOnly, StatusCollectors: []string{"agg"}}}}
		s.h.binds[n] = b
	}
	// bindings of deleted BPs: gone, with their statuses
	for n := range old {
		if s.h.binds[n] == nil {
			s.h.sts = maps.Clone(s.h.sts)
			delete(s.h.sts, n)
		}
	}
	for n, p := range s.h.bps {
		if p.DeletionTimestamp != nil {
			s.h.bps = maps.Clone(s.h.bps)
			delete(s.h.bps, n)
		}
	}
}

// deliver: the transport and the clusters follow the Bindings
func (s *sim) deliver() {
	for c, x := range s.w {
		covered, thawed := false, false
		for _, b := range s.h.binds {
			for _, d := range b.Spec.Destinations {
				if d.ClusterID == c {
					covered = true
					if !b.Spec.Workload.NamespaceScope[0].CreateOnly {
						thawed = true
					}
				}
			}
		}
		ver := s.workV + 1
		// the version in the Binding
		switch {
		case !covered && x.has:
			s.onLoss(c)
			*x = wec{health: x.health, delay: x.delay}
		case covered && !x.has:
			s.onReceive(c, ver, true)
			x.has, x.version, x.since, x.ever = true, ver, s.now, false
		case covered && thawed && x.version != ver:
			s.onReceive(c, ver, false)
			x.version, x.since = ver, s.now
		}
	}
}

func (s *sim) truth(c string) (ready, bad bool) {
	x := s.w[c]
	if !x.has {
		return false, false
	}
	age := s.now.Sub(x.since)
	switch x.health {
	case 1:
		return false, age > x.delay
	case 2:
		return age > x.delay && (int(age/(4*time.Second))%2 == 0), false
	case 3:
		return false, false
	}
	return age > x.delay, false
}

func (s *sim) report() {
	for c, x := range s.w {
		if s.h.cl[c] == nil {
			continue
		}
		if !x.has {
			x.repHas = false
			continue
		}
		ready, bad := s.truth(c)
		if !x.repHas || x.repVer != x.version || x.repReady != ready || x.repBad != bad {
			x.repHas, x.repVer, x.repReady, x.repBad, x.repAt = true, x.version, ready, bad, s.now
		}
		if ready {
			x.ever = true
			x.everVer = max(x.everVer, x.version)
		}
	}
}

func (s *sim) combine() {
	s.h.sts = map[string]*control.CombinedStatus{}
	s.h.reps = nil
	clause := control.DownsyncClause{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "n", Name: "web", DownsyncModulation: control.DownsyncModulation{StatusCollectors: []string{"agg"}}}
	s.h.work, s.h.told = &fleet.Workload{Revision: idOf(s.workV + 1), Objects: []*fleet.Object{{Clause: clause}}}, nil
	for c, x := range s.w {
		told := fleet.Cluster{Name: c, Absent: !x.has}
		if x.has {
			told.Applied = idOf(x.version)
		}
		if x.repHas {
			number := map[bool]int64{true: 1}
			told.Reports = []fleet.Report{{Object: fleet.ObjectRef{Group: "apps", Resource: "deployments", Namespace: "n", Name: "web"}, Revision: idOf(x.repVer), Evidence: fleet.EvidenceOrdered,
				Status: map[string]any{"ready": number[x.repReady], "bad": number[x.repBad]}}}
		}
		s.h.told = append(s.h.told, told)
	}
	for n, b := range s.h.binds {
		ready, bad := 0, 0
		rep := bindingpolicy.Report{BindingPolicy: n, Object: fleet.ObjectRef{Group: "apps", Resource: "deployments", Namespace: "n", Name: "web"}}
		for _, d := range b.Spec.Destinations {
			x := s.w[d.ClusterID]
			if x == nil || !x.repHas {
				continue
			}
			if x.repReady {
				ready++
			}
			if x.repBad {
				bad++
			}
			rep.Clusters = append(rep.Clusters, fleet.ClusterReport{Cluster: d.ClusterID, Reported: true, LastReturned: x.repAt.Truncate(time.Second)})
		}
		num := func(k int) control.Value { t := strconv.Itoa(k); return control.Value{Type: "Number", Number: &t} }
		uid := string(b.OwnerReferences[0].UID)
		s.h.sts[n] = &control.CombinedStatus{ObjectMeta: metav1.ObjectMeta{Name: "web." + uid, Labels: map[string]string{
			"status.kubestellar.io/binding-policy": n, "status.kubestellar.io/api-group": "apps", "status.kubestellar.io/resource": "deployments", "status.kubestellar.io/namespace": "n", "status.kubestellar.io/name": "web"}},
			Results: []control.NamedStatusCombination{{Name: "agg", ColumnNames: []string{"ready", "bad"}, Rows: []control.StatusCombinationRow{{Columns: []control.Value{num(ready), num(bad)}}}}}}
		if !s.noReports {
			s.h.reps = append(s.h.reps, rep)
		}
	}
}

func (s *sim) stageSel(t stg, l map[string]string) bool { return l[t.key] == t.val }
