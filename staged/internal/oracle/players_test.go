package oracle_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

func (s *sim) obs(h hub) bindingpolicy.Observation {
	o := bindingpolicy.Observation{Meta: metav1.ObjectMeta{Name: "s", UID: "sbp", ResourceVersion: strconv.Itoa(h.rv), Generation: int64(h.gen), Annotations: h.ann}, Clusters: h.cl, Reports: h.reps}
	for _, k := range slices.Sorted(maps.Keys(h.bps)) {
		o.BindingPolicies = append(o.BindingPolicies, h.bps[k])
	}
	for _, b := range h.binds {
		o.Bindings = append(o.Bindings, b)
	}
	for _, x := range h.sts {
		o.Statuses = append(o.Statuses, x)
	}
	return o
}

func same(a, b *control.BindingPolicy) bool {
	return reflect.DeepEqual(a.Spec, b.Spec) && a.Annotations[v1alpha1.VersionAnnotation] == b.Annotations[v1alpha1.VersionAnnotation]
}
func specText(p *control.BindingPolicy) string {
	var x []string
	for _, c := range p.Spec.ClusterSelectors {
		x = append(x, metav1.FormatLabelSelector(&c))
	}
	return strings.Join(x, "|") + fmt.Sprint(p.Spec.Downsync[0].CreateOnly)
}

// idOf is the revision of a version.
func idOf(version int) fleet.RevisionID {
	return fleet.RevisionID(fmt.Sprintf("sha256:%012d", version))
}

// collector is the StatusCollector of the condition.
var collector = sync.OnceValue(func() map[string]*kubestellar.Collector {
	ready, bad := "returned.status.ready", "returned.status.bad"
	c, err := kubestellar.Compile(control.StatusCollectorSpec{CombinedFields: []control.NamedAggregator{
		{Name: "ready", Type: "SUM", Subject: &ready}, {Name: "bad", Type: "SUM", Subject: &bad}}})
	if err != nil {
		panic(err)
	}
	return map[string]*kubestellar.Collector{"agg": c}
})

// decideAt decides at the time of the hub, as far as the player knows it: from the answer to its first
// write on.
func (s *sim) decideAt(p *ply, h hub) bindingpolicy.Decision {
	r := bindingpolicy.NewRollout(s.vs[h.variant].pol)
	o := s.obs(h)
	r.Update(s.vs[h.variant].pol, o.Meta)
	r.ObserveClusters(o.Clusters)
	for _, x := range o.BindingPolicies {
		r.ObserveBindingPolicy(x)
	}
	for _, x := range o.Bindings {
		r.ObserveBinding(x)
	}
	if h.work == nil {
		h.work = &fleet.Workload{}
	}
	r.ObserveWorkload(*h.work, collector())
	for _, c := range h.told {
		r.ObserveCluster(c)
	}
	now := fleet.Instant{Time: s.now.Add(p.skew)}
	if p.timed {
		now = fleet.Instant{Time: s.now, Error: time.Second, Known: true}
	}
	return r.DecideAt(h.st, now)
}

// retryAll asks for another attempt of every stage.
func (s *sim) retryAll() {
	s.h.ann = maps.Clone(s.h.ann)
	if s.h.ann == nil {
		s.h.ann = map[string]string{}
	}
	s.h.counter++
	for _, t := range s.v().st {
		name := s.h.st.Wanted
		if name == "" {
			name = "first"
		}
		s.h.ann[v1alpha1.RetryPrefix+t.name] = fmt.Sprint(name, " ", s.h.counter)
	}
	s.h.rv = s.h.counter + 1000
}

func (s *sim) decide(p *ply) {
	h := p.view
	d := s.decideAt(p, h)
	p.decided, p.at = h, s.now
	p.pend = nil
	var ens []wr
	for _, w := range d.Ensure {
		old := h.bps[w.Name]
		if old != nil && (old.DeletionTimestamp != nil || same(old, w)) {
			continue
		}
		ens = append(ens, wr{kind: "ensure", name: w.Name, want: w})
	}
	for _, n := range d.Remove {
		ens = append(ens, wr{kind: "remove", name: n})
	}
	if len(ens) > 0 || !reflect.DeepEqual(d.Status, h.st) {
		p.pend = append([]wr{{kind: "status", d: d}}, ens...)
	}
}

// write carries out the next write. fault: 0 none, 1 refused, 2 applied but the answer is lost
func (s *sim) write(p *ply, fault uint32) bool {
	if len(p.pend) == 0 {
		return false
	}
	w := p.pend[0]
	p.pend = p.pend[1:]
	if fault == 1 {
		p.pend = nil
		return true
	}
	ok := true
	switch w.kind {
	case "status":
		if ok = p.decided.rv == s.h.rv && p.view.rv == p.decided.rv; ok {
			before := s.h.st
			s.h.st = w.d.Status
			s.h.counter++
			s.h.rv = s.h.counter + 1000
			if s.verbose {
				s.note("player %d writes status: %s | %s", slices.Index(s.p, p), w.d.Message, phases(s.h.st))
			}
			s.onStatus(before, w.d.Status, w.d, p)
			if fault != 2 {
				p.timed = true
				p.view.st, p.view.rv = s.h.st, s.h.rv
				p.decided.rv = s.h.rv
			}
		}
	case "ensure":
		old, now := p.decided.bps[w.name], s.h.bps[w.name]
		if ok = old == nil && now == nil || old != nil && now != nil && old.ResourceVersion == now.ResourceVersion; ok {
			x := *w.want
			s.h.counter++
			x.ResourceVersion = strconv.Itoa(s.h.counter)
			if now != nil {
				x.UID = now.UID
				for c, l := range s.h.cl {
					if sel(now, l) && !sel(&x, l) {
						s.removedGen[c], s.removedFor[c] = p.decided.gen, p.decided.st.Wanted
					}
				}
			} else {
				s.uid++
				x.UID = types.UID(fmt.Sprintf("u%d", s.uid))
			}
			s.h.bps = maps.Clone(s.h.bps)
			s.h.bps[w.name] = &x
			s.note("player %d ensures %s %s v%s", slices.Index(s.p, p), w.name, specText(&x), x.Annotations[v1alpha1.VersionAnnotation])
			if fault != 2 {
				p.view.bps = maps.Clone(p.view.bps)
				p.view.bps[w.name] = &x
			}
		}
	case "remove":
		old, now := p.decided.bps[w.name], s.h.bps[w.name]
		if ok = now != nil && old.ResourceVersion == now.ResourceVersion && old.UID == now.UID; ok {
			for c, l := range s.h.cl {
				if sel(now, l) {
					s.removedGen[c], s.removedFor[c] = p.decided.gen, p.decided.st.Wanted
				}
			}
			x := *now
			x.DeletionTimestamp = &metav1.Time{Time: s.now}
			s.h.counter++
			x.ResourceVersion = strconv.Itoa(s.h.counter)
			s.h.bps = maps.Clone(s.h.bps)
			s.h.bps[w.name] = &x
			s.note("player %d removes %s", slices.Index(s.p, p), w.name)
			if fault != 2 {
				p.view.bps = maps.Clone(p.view.bps)
				delete(p.view.bps, w.name)
			}
		}
	}
	if !ok || fault == 2 {
		p.pend = nil
	}
	return true
}

func phases(st v1alpha1.Status) string {
	var all []string
	for _, r := range st.Stages {
		x := r.Name + "=" + string(r.Phase)
		if len(r.Batches) > 0 {
			x += fmt.Sprintf("[%d/%d]", r.StartedBatches, len(r.Batches))
		}
		all = append(all, x)
	}
	return st.ActiveStage + ": " + strings.Join(all, " ")
}

func (s *sim) refresh(p *ply, mask uint32) {
	if mask&1 > 0 {
		p.view.gen, p.view.rv, p.view.variant, p.view.ann, p.view.st = s.h.gen, s.h.rv, s.h.variant, s.h.ann, s.h.st
	}
	if mask&2 > 0 {
		p.view.bps = s.h.bps
	}
	if mask&4 > 0 {
		p.view.binds = s.h.binds
	}
	if mask&8 > 0 {
		p.view.sts, p.view.reps, p.view.work, p.view.told = s.h.sts, s.h.reps, s.h.work, s.h.told
	}
	if mask&16 > 0 {
		p.view.cl = s.h.cl
	}
}

func (s *sim) full(p *ply) {
	s.refresh(p, 31)
	s.decide(p)
	for s.write(p, 0) {
	}
}

func (s *sim) world() { s.bind(); s.deliver(); s.report(); s.combine(); s.noteFulfilled() }

func (s *sim) undo() { s.everDone = false }
