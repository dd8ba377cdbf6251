package rehearse

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// lint looks for what is doubtful: by the selectors, by playing each stage alone, and by how the rehearsal ended.
func (r *run) lint(ctx context.Context) error {
	for i, s := range r.in.Policy.Spec.Stages {
		found, err := kubestellar.Destinations(s.ClusterSelectors, r.hub.labels)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			r.doubt(s.Name, "its selectors match no cluster")
			continue
		}
		if s.Condition == "" {
			continue
		}
		if err := r.alone(ctx, i); err != nil {
			return err
		}
	}
	if !r.timeline.Succeeded {
		r.doubt("", "stuck: nothing that happens in this rehearsal lets it go on: %s", r.timeline.Message)
	}
	return nil
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

func (r *run) doubt(stage, format string, args ...any) {
	r.timeline.Lints = append(r.timeline.Lints, Lint{stage, fmt.Sprintf(format, args...)})
}

// patience is longer than anything that is rehearsed: a stage with such a soak is never left.
const patience = 1 << 62

// alone plays one stage without leaving it, and without the guards that would hide what its condition says.
func (r *run) alone(ctx context.Context, i int) error {
	in := r.in
	s := in.Policy.Spec.Stages[i]
	in.Policy.Spec.Stages = []v1alpha1.Stage{{
		Name: s.Name, ClusterSelectors: s.ClusterSelectors, Filter: s.Filter, Condition: s.Condition, Guards: s.Guards,
		Soak: &metav1.Duration{Duration: patience},
	}}
	in.Explain = false
	guarded, err := r.part(ctx, in)
	if err != nil {
		return err
	}
	if from, to, passing := passing(guarded.timeline); passing {
		r.doubt(s.Name, "the condition is true only in passing, from +%s to +%s after the stage is started: %s", round(from), round(to), s.Condition)
	}
	guards := v1alpha1.Guards{}
	if s.Guards != nil {
		guards = *s.Guards
	}
	guards.AllowStale, guards.AllowErrors = true, true
	in.Policy.Spec.Stages = slices.Clone(in.Policy.Spec.Stages)
	in.Policy.Spec.Stages[0].Guards = &guards
	unguarded, err := r.part(ctx, in)
	if err != nil {
		return err
	}
	r.early(s, unguarded, guarded)
	return nil
}

// early compares when the condition is true with when it counts.
func (r *run) early(s v1alpha1.Stage, unguarded, guarded *run) {
	first, ok := firstSatisfied(unguarded.timeline)
	counts, counted := firstSatisfied(guarded.timeline)
	reported, all := unguarded.reports(s)
	switch {
	case !ok:
	case first < reported:
		r.doubt(s.Name, "the condition is true before any cluster has reported, so it says nothing: %s", s.Condition)
	case counted && first == counts && first < all:
		r.doubt(s.Name, "it is satisfied at +%s although not every cluster has reported, as its guards allow", round(first))
	case !counted || first < counts:
		r.doubt(s.Name, "the condition is true at +%s, before every cluster has reported without errors; only the guards wait", round(first))
	}
}

func firstSatisfied(t *Timeline) (time.Duration, bool) {
	for _, e := range t.Entries {
		if e.Text == textSatisfied {
			return e.At, true
		}
	}
	return 0, false
}

// reports are when the first cluster of a stage has reported, and when all have.
func (r *run) reports(s v1alpha1.Stage) (first, all time.Duration) {
	first, all = patience, 0
	found, err := kubestellar.Destinations(s.ClusterSelectors, r.hub.labels)
	if err != nil {
		return first, patience
	}
	for _, d := range found {
		at, known := r.firsts[d.ClusterID]
		if !known {
			at = patience
		}
		first, all = min(first, at), max(all, at)
	}
	return first, all
}

// part plays a part of the rehearsal by itself.
func (r *run) part(ctx context.Context, in Input) (*run, error) {
	part, err := newRun(in)
	if err != nil {
		return nil, err
	}
	return part, part.play(ctx)
}

// passing finds that a stage was satisfied once, and not in the end.
func passing(t *Timeline) (from, to time.Duration, found bool) {
	satisfied := false
	for _, e := range t.Entries {
		switch e.Text {
		case textSatisfied:
			from, satisfied = e.At, true
		case textNoLonger:
			to, satisfied = e.At, false
		}
	}
	return from, to, to > 0 && !satisfied
}
