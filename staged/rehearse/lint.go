package rehearse

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// lint finds what is doubtful: from compiling, from the selectors, from playing each stage alone,
// and from how the rehearsal ended.
func (r *run) lint(ctx context.Context) error {
	for _, w := range r.main().policy.Warnings() {
		r.addLint("", "%s: %w", w.Path, w.Err)
	}
	if err := r.lintSelectors(); err != nil {
		return err
	}
	for i, s := range r.in.Policy.Spec.Stages {
		found, err := kubestellar.Destinations(s.ClusterSelectors, r.hub.labels)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			r.addLint(s.Name, "its selectors match no cluster%s", consequence(s))
			continue
		}
		if s.Condition == "" {
			continue
		}
		if err := r.alone(ctx, i); err != nil {
			return err
		}
	}
	r.ending()
	r.lintApprovals()
	r.lintTemplates()
	return r.lintLosses()
}

// lintApprovals finds approvals that a rollout never asked for, although it has succeeded.
func (r *run) lintApprovals() {
	for _, p := range r.policies {
		if !p.done {
			continue
		}
		for _, gate := range p.approvals() {
			if _, s, _ := strings.Cut(gate, "."); !p.asked[gate] {
				r.addLint(s, "the approval %s has no effect: the rollout has not asked for it", gate)
			}
		}
	}
}

// approvals returns the gates that are approved in a rehearsal, sorted, also when it ended before.
func (r *policyRun) approvals() []string {
	gates := maps.Clone(r.consents)
	if r == r.main() {
		for gate := range r.in.Approvals {
			gates[gate] = ""
		}
	}
	return slices.Sorted(maps.Keys(gates))
}

// expandTemplates is KubeStellar's annotation of an object that differs by cluster.
const expandTemplates = control.Group + "/expand-templates"

// lintTemplates finds, with staged updates, objects that differ by cluster.
func (r *run) lintTemplates() {
	if r.in.Policy.Spec.Updates != v1alpha1.Staged {
		return
	}
	for _, obj := range r.in.Objects {
		if obj.GetAnnotations()[expandTemplates] == "true" {
			r.addLint("", "%s %s: its templates are expanded for each cluster: it is never known which revision a cluster has, and an error in one takes the workload from all of them", obj.GetKind(), obj.GetName())
		}
	}
}

// consequence says what happens to a stage without clusters, unless the rollout waits there.
func consequence(s v1alpha1.Stage) string {
	switch {
	case s.SkipIfEmpty:
		return ", so it is skipped"
	case s.Guards != nil && s.Guards.MinDestinations != nil && *s.Guards.MinDestinations == 0:
		return ", and its guards let that pass"
	}
	return ""
}

// ending says why a rollout has not succeeded.
func (r *run) ending() {
	for _, p := range r.policies[1:] {
		if !p.done {
			r.addLint("", "policy %s has not succeeded: %s", p.policy.Name(), p.message)
		}
	}
	switch {
	case r.timeline.Succeeded:
	case r.cutOff.IsZero():
		r.addLint("", "stuck: nothing that happens in this rehearsal lets it go on: %s", r.timeline.Message)
	default:
		r.addLint("", "not over after %s; the next thing would happen at +%s: %s", r.in.Longest, round(r.cutOff.Sub(r.in.Start)), r.timeline.Message)
	}
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

func (r *run) addLint(stage, format string, args ...any) {
	r.timeline.Lints = append(r.timeline.Lints, Lint{stage, fmt.Errorf(format, args...).Error()})
}

// endless is longer than any rehearsal: a stage with such a soak is never left.
const endless = 1 << 62

// alone plays one stage without leaving it: with its own guards, with all guards, and without the
// guards that concern reports, so that the result of the condition alone is seen.
func (r *run) alone(ctx context.Context, i int) error {
	s := r.in.Policy.Spec.Stages[i]
	guards := v1alpha1.Guards{}
	if s.Guards != nil {
		guards = *s.Guards
	}
	own, err := r.trial(ctx, s, guards)
	if err != nil {
		return err
	}
	guarded := own
	if guards.AllowStale || guards.AllowErrors {
		guards.AllowStale, guards.AllowErrors = false, false
		if guarded, err = r.trial(ctx, s, guards); err != nil {
			return err
		}
	}
	guards.AllowStale, guards.AllowErrors = true, true
	open, err := r.trial(ctx, s, guards)
	if err != nil {
		return err
	}
	if from, to, passing := passing(own.timeline); passing {
		r.addLint(s.Name, "the condition is true only in passing, from +%s to +%s after the stage is started: %s", round(from), round(to), s.Condition)
	}
	r.early(s, trials{own, guarded, open})
	r.failing(s, own)
	return nil
}

// trial plays a stage with these guards, and nothing else to wait for.
func (r *run) trial(ctx context.Context, s v1alpha1.Stage, guards v1alpha1.Guards) (*run, error) {
	in := r.in
	in.Explain, in.Script, in.Others = false, Script{}, nil
	in.Policy.Spec.Stages = []v1alpha1.Stage{{
		Name: s.Name, ClusterSelectors: s.ClusterSelectors, Filter: s.Filter, Condition: s.Condition,
		FailureCondition: s.FailureCondition, Guards: &guards,
		Soak: &metav1.Duration{Duration: endless},
	}}
	part, err := newRun(in, r.workload)
	if err != nil {
		return nil, err
	}
	return part, part.play(ctx)
}

// trials are the trials of one stage: with its own guards, with all guards, and without the guards that
// concern reports.
type trials struct{ own, guarded, open *run }

// early compares when the condition is first true with when the guards let it count.
func (r *run) early(s v1alpha1.Stage, t trials) {
	counts, all, first := firstSatisfied(t.own.timeline), firstSatisfied(t.guarded.timeline), firstSatisfied(t.open.timeline)
	switch {
	case first == never:
	case t.open.main().object.Status.Stages[0].Counts.Objects == 0:
		r.addLint(s.Name, "it is satisfied without any object to look at, as its guards allow")
	case first < t.open.reported():
		r.addLint(s.Name, "the condition is true before any cluster has reported, so it says nothing: %s", s.Condition)
	case counts < all:
		r.addLint(s.Name, "it is satisfied at +%s although not every cluster has reported without errors, as its guards allow", round(counts))
	case first < counts:
		r.addLint(s.Name, "the condition is true at +%s, before every cluster has reported without errors; only the guards wait", round(first))
	}
}

// failing reports a failure condition that fails, or is true, when nothing is wrong.
func (r *run) failing(s v1alpha1.Stage, own *run) {
	text := own.main().object.Status.Stages[0].Message
	switch {
	case s.FailureCondition == "":
	case strings.Contains(text, "failureCondition is true"):
		r.addLint(s.Name, "%s", text)
	case strings.Contains(text, "failureCondition: "):
		r.addLint(s.Name, "failureCondition cannot be evaluated, so that the stage is never left: %s", text)
	}
}

// never is after everything else.
const never = time.Duration(1<<63 - 1)

func firstSatisfied(t *Timeline) time.Duration {
	i := slices.IndexFunc(t.Entries, func(e Entry) bool { return e.Text == textSatisfied })
	if i < 0 {
		return never
	}
	return t.Entries[i].At
}

// reported returns when the first status of the workload reaches the hub.
func (r *run) reported() time.Duration {
	first := never
	for _, m := range r.hub.members {
		if !m.firstReport.IsZero() {
			first = min(first, m.firstReport.Sub(r.in.Start))
		}
	}
	return first
}

// passing reports whether a stage was satisfied at some time, but not in the end.
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
