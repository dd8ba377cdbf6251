package oracle_test

import (
	"fmt"
	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

func (s *sim) step(o op) {
	s.seq++
	if s.verbose {
		s.note("-- %s %d %d %d", o.kind, o.a%7, o.b%7, o.c%7)
	}
	names := slices.Sorted(maps.Keys(s.h.cl))
	pick := names[int(o.a)%len(names)]
	switch o.kind {
	case "full":
		s.full(s.p[int(o.a)%len(s.p)])
	case "play":
		p := s.p[int(o.a)%len(s.p)]
		f := uint32(0)
		if o.b%12 == 0 {
			f = 1 + o.c%2
		}
		if !s.write(p, f) {
			s.refresh(p, o.b|o.c)
			s.decide(p)
		}
	case "crash":
		p := s.p[int(o.a)%len(s.p)]
		p.pend = nil
		s.refresh(p, 31)
	case "world":
		s.world()
	case "bind":
		s.bind()
	case "deliver":
		s.deliver()
	case "report":
		s.report()
		s.noteFulfilled()
	case "combine":
		s.combine()
	case "time":
		s.now = s.now.Add(time.Duration(1+o.a%15) * time.Second)
	case "long":
		s.now = s.now.Add(time.Duration(1+o.a%120) * time.Second)
	case "health":
		s.w[pick].health = []int{0, 0, 1, 2, 3}[o.b%5]
		s.w[pick].delay = time.Duration(o.c%10) * time.Second
	case "edit":
		n := int(o.a) % len(s.vs)
		if n == s.h.variant {
			return
		}
		was, is := s.v(), s.vs[n]
		s.h.variant = n
		s.h.gen++
		s.h.counter++
		s.h.rv = s.h.counter + 1000
		gates := was.keep == is.keep && was.staged == is.staged && len(was.st) == len(is.st)
		for i := range was.st {
			if gates && (was.st[i].name != is.st[i].name || was.st[i].key != is.st[i].key || was.st[i].val != is.st[i].val || was.st[i].mc != is.st[i].mc) {
				gates = false
			}
		}
		if !gates {
			s.edited = true
			s.undo()
		}
		s.note("edit: gates only %v\n%s", gates, is.text)
	case "approve":
		v := "who" + strconv.Itoa(s.seq)
		s.apprVals[v] = s.seq
		s.h.ann = map[string]string{}
		for _, t := range s.v().st {
			s.h.ann[v1alpha1.ApprovalPrefix+"before."+t.name] = v
			s.h.ann[v1alpha1.ApprovalPrefix+"after."+t.name] = v
			for _, rec := range s.h.st.Stages {
				if rec.Name == t.name && rec.Awaiting != nil {
					s.h.ann[v1alpha1.ApprovalPrefix+rec.Awaiting.Gate+"."+t.name] = rec.Awaiting.Ticket + " " + v
				}
			}
		}
		s.h.counter++
		s.h.rv = s.h.counter + 1000
	case "workload":
		if s.v().staged {
			s.undo()
			// clean if the rollout is done, and every BindingPolicy is frozen
			s.clean = s.done()
			for _, p := range s.h.bps {
				s.clean = s.clean && p.Spec.Downsync[0].CreateOnly
			}
			for _, p := range s.p {
				s.clean = s.clean && len(p.pend) == 0
			}
			for _, b := range s.h.binds {
				s.clean = s.clean && b.Spec.Workload.NamespaceScope[0].CreateOnly
			}
			s.fulfilled = map[string]bool{}
			s.cleanV = s.workV + 2
		}
		s.workV++
		s.note("workload is version %d (clean %v)", s.workV+1, s.clean)
	case "label":
		l := maps.Clone(s.h.cl[pick])
		if o.b%2 == 0 {
			l["env"] = string(rune('a' + o.c%3))
		} else if l["tier"] == "t" {
			delete(l, "tier")
		} else {
			l["tier"] = "t"
		}
		s.h.cl = maps.Clone(s.h.cl)
		s.h.cl[pick] = l
		s.relabelled = true
		s.undo()
	case "join":
		n := fmt.Sprintf("j%d", s.seq)
		s.h.cl = maps.Clone(s.h.cl)
		s.h.cl[n] = map[string]string{"env": string(rune('a' + o.b%3)), "name": n}
		s.w[n] = &wec{}
		s.relabelled = true
		s.undo()
	case "leave":
		if len(names) > 3 {
			s.h.cl = maps.Clone(s.h.cl)
			delete(s.h.cl, pick)
			delete(s.w, pick)
			s.relabelled = true
			s.undo()
		}
	case "snap":
		s.snaps = append(s.snaps, s.h)
	case "restore":
		if len(s.snaps) > 0 {
			now := s.h
			s.h = s.snaps[int(o.a)%len(s.snaps)]
			s.h.cl = now.cl
			if o.b%2 == 0 { // etcdutl --bump-revision
				s.h.counter = now.counter + 1000
				s.h.rv = s.h.counter + 1000
			}
			s.restored = true
			s.undo()
			s.note("restored: %s", phases(s.h.st))
		}
	}
	s.checkConcurrency()
	if s.done() == false && s.everDone {
		s.undo()
	}
}

// end: P7: with healthy clusters and approvals it ends, and every cluster of the last stage (Keep: of all) has the newest version
func (s *sim) end() {
	for _, p := range s.p {
		p.pend = nil
	}
	for c := range s.w {
		s.w[c].health, s.w[c].delay = 0, 0
	}
	act := slices.IndexFunc(s.v().st, func(t stg) bool { return t.name == s.h.st.ActiveStage })
	if s.h.st.ActiveStage != "" && act < 0 || s.v().paused {
		return
	}
	for _, t := range s.v().st {
		has := false
		for _, l := range s.h.cl {
			has = has || s.stageSel(t, l)
		}
		if !has {
			return
		}
	}
	s.retryAll()
	quiet := 0
	for turn := range 240 {
		if turn%4 == 0 {
			s.step(op{kind: "approve"})
		}
		if turn == 100 || turn == 160 {
			s.retryAll()
		}
		if turn%40 == 39 && strings.Contains(s.msg(), "no status of the bound") { // documented: a version that came and went between two reads
			for _, x := range s.w {
				x.repAt = s.now
			}
		}
		s.world()
		s.full(s.p[0])
		s.world()
		s.now = s.now.Add(7 * time.Second)
		if s.fault != "" {
			return
		}
		if s.done() {
			quiet++
		} else {
			quiet = 0
		}
		if quiet > 4 {
			break
		}
	}
	if !s.done() {
		s.broken("P7: it does not end: %s", s.msg())
		return
	}
	for c, l := range s.h.cl {
		need := false
		for i, t := range s.v().st {
			if s.stageSel(t, l) && (s.v().keep || i == len(s.v().st)-1) {
				need = true
			}
		}
		if need && !s.w[c].has {
			s.broken("P7: cluster %s has nothing in the end", c)
		}
		if need && s.w[c].version != s.workV+1 {
			s.broken("P7: cluster %s has version %d of %d in the end", c, s.w[c].version, s.workV+1)
		}
		if !need && s.w[c].has && !s.v().keep {
			s.broken("P7: cluster %s still has the workload in the end", c)
		}
	}
}

func (s *sim) msg() string {
	for _, c := range s.h.st.Conditions {
		if c.Type == "Progressing" {
			return c.Message
		}
	}
	return ""
}

var kinds = slices.Concat(
	slices.Repeat([]string{"full"}, 5), slices.Repeat([]string{"play"}, 16), slices.Repeat([]string{"world"}, 8),
	[]string{"bind", "bind", "deliver", "deliver", "report", "report", "combine", "combine", "time", "time", "time", "long", "health", "health", "crash", "approve", "approve", "workload", "edit", "edit"},
	[]string{"label", "join", "leave", "snap", "restore"},
)

func rops(r *rand.Rand, mode int) []op {
	n := 15 + r.IntN(35)
	ops := make([]op, 0, n)
	for len(ops) < n {
		o := op{kinds[r.IntN(len(kinds))], r.Uint32(), r.Uint32(), r.Uint32()}
		disruptive := o.kind == "label" || o.kind == "join" || o.kind == "leave"
		switch {
		case mode == 0 && (disruptive || o.kind == "edit" || o.kind == "restore"): // nobody edits: order, concurrency, approvals
			continue
		case mode == 1 && (disruptive || o.kind == "restore"): // edits only
			continue
		case mode == 2 && o.kind == "restore":
			continue
		}
		ops = append(ops, o)
	}
	return ops
}

func playOne(vs []*spc, ops []op, seed uint64, verbose bool) *sim {
	r := rand.New(rand.NewPCG(seed, 5))
	skew := time.Duration(0)
	if seed%4 == 3 {
		skew = 4 * time.Minute
	}
	s := newSim(vs, r, 1+int(seed%3), skew)
	s.verbose = verbose
	for _, o := range ops {
		if s.step(o); s.fault != "" {
			return s
		}
	}
	s.end()
	return s
}

func kindOf(f string) string { k, _, _ := strings.Cut(f, ":"); return k }

func TestSim(t *testing.T) {
	n, first := uint64(effort.Of(400)), uint64(0)
	if v := os.Getenv("N"); v != "" {
		n, _ = strconv.ParseUint(v, 10, 64)
	}
	if v := os.Getenv("FIRST"); v != "" {
		first, _ = strconv.ParseUint(v, 10, 64)
	}
	only := os.Getenv("ONLY")
	shown := map[string]int{}
	count := map[string]int{}
	var fams [400][]*spc
	begin := time.Now()
	for seed := first; seed < first+n; seed++ {
		f := seed % 400
		if fams[f] == nil {
			fams[f] = family(t, f)
		}
		r := rand.New(rand.NewPCG(seed, 17))
		mode := int(seed/3) % 4
		ops := rops(r, mode)
		s := playOne(fams[f], ops, seed, false)
		if s.done() {
			count["done"]++
		}
		if s.fault == "" {
			continue
		}
		k := kindOf(s.fault)
		key := fmt.Sprintf("%s mode%d skew%v", k, mode, s.maxSkew > 0)
		count[key]++
		if only != "" && !strings.Contains(key, only) {
			continue
		}
		if shown[key] < 2 {
			shown[key]++
			for size := len(ops) / 2; size > 0; {
				shorter := false
				for i := 0; i+size <= len(ops); {
					without := slices.Delete(slices.Clone(ops), i, i+size)
					if kindOf(playOne(fams[f], without, seed, false).fault) == k {
						ops, shorter = without, true
					} else {
						i += size
					}
				}
				if !shorter {
					size /= 2
				}
			}
			x := playOne(fams[f], ops, seed, true)
			lines := x.log
			if len(lines) > 270 {
				lines = append(slices.Clone(lines[:35]), append([]string{"..."}, lines[len(lines)-35:]...)...)
			}
			t.Errorf("==== seed %d %s: %s\n%s\n%s", seed, key, x.fault, fams[f][0].text, strings.Join(lines, "\n"))
		}
	}
	t.Logf("%d histories in %v: %v", n, time.Since(begin), count)
}
