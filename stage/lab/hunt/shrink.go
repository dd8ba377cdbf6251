package hunt

import "slices"

// maxTries is how many runs shrinking makes at most.
const maxTries = 200

// shrink takes out of a failing plan what the same finding does not need: whole faults, and then
// what makes a fault other than its default.
func (h *search) shrink(f *Failure) {
	h.tryAll(f, func(p Plan, i int) (Plan, bool) {
		p.Faults = slices.Delete(p.Faults, i, i+1)
		return p, len(p.Faults) > 0
	})
	for _, weaken := range []func(*Fault){
		func(f *Fault) { f.Behind = 0 },
		func(f *Fault) { f.Times = 0 },
		func(f *Fault) { f.Code = 0 },
		func(f *Fault) { f.Number = 0 },
		func(f *Fault) { f.By = 0 },
		func(f *Fault) { f.Policy = "" },
		func(f *Fault) { f.For = 0 },
	} {
		h.tryAll(f, func(p Plan, i int) (Plan, bool) {
			before := p.Faults[i]
			weaken(&p.Faults[i])
			return p, p.Faults[i] != before
		})
	}
}

// tryAll plays a smaller plan for each fault, and keeps the ones that still fail, until each was tried.
func (h *search) tryAll(f *Failure, smaller func(Plan, int) (Plan, bool)) {
	for i := len(f.Outcome.Plan.Faults) - 1; i >= 0; i-- {
		plan := f.Outcome.Plan
		if i >= len(plan.Faults) {
			continue
		}
		plan.Faults = slices.Clone(plan.Faults)
		plan, ok := smaller(plan, i)
		if !ok || f.Tries >= maxTries {
			continue
		}
		f.Tries++
		out, err := h.play(plan)
		if err != nil {
			continue
		}
		if found, ok := out.has(f.Finding); ok {
			f.Finding, f.Outcome = found, out
			i = len(out.Plan.Faults)
		}
	}
}

// has returns the finding of the same check about the same kind.
func (o *Outcome) has(f Finding) (Finding, bool) {
	i := slices.IndexFunc(o.Findings, func(g Finding) bool { return g.Check == f.Check && g.Kind == f.Kind })
	if i < 0 {
		return Finding{}, false
	}
	return o.Findings[i], true
}
