package fit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/delay"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// A writer makes Stages of transitions.
type writer struct {
	versions map[string]string
	known    map[string]v1alpha1.Stage // by kind and name
	stages   []v1alpha1.Stage
}

func newWriter(o Options) *writer {
	w := &writer{versions: o.Versions, known: map[string]v1alpha1.Stage{}}
	for _, source := range o.Stages {
		for _, s := range source.Stages() {
			group, _, grouped := strings.Cut(s.Spec.ResourceRef.APIGroup, "/")
			kind := s.Spec.ResourceRef.Kind
			if grouped {
				kind += "." + group
			}
			w.known[kind+"/"+s.Name] = s
		}
	}
	return w
}

// write adds the Stage of a transition.
func (w *writer) write(t *Transition) {
	s, known := w.known[t.Kind+"/"+t.Stage]
	if t.NotFitted = notForAStage(t); known {
		t.NotFitted = ""
	} else if t.NotFitted == "" {
		s, t.NotFitted = w.made(t)
	}
	if t.NotFitted != "" {
		return
	}
	if i := slices.IndexFunc(w.stages, func(o v1alpha1.Stage) bool { return o.Name == s.Name && o.Spec.ResourceRef == s.Spec.ResourceRef }); i >= 0 {
		t.NotFitted = fmt.Sprintf("stage %q is fitted to another transition already", s.Name)
		return
	}
	s.ObjectMeta = metav1.ObjectMeta{Name: s.Name, Labels: s.Labels, Annotations: annotations(s.Annotations, t.quantiles)}
	s.Spec.Delay = delayForKwok(t.quantiles)
	t.Fitted = s.Name
	w.stages = append(w.stages, s)
}

func annotations(others map[string]string, q []time.Duration) map[string]string {
	all := map[string]string{delay.ExtensionAnnotation: extension(q)}
	for name, text := range others {
		if name != delay.ExtensionAnnotation {
			all[name] = text
		}
	}
	return all
}

// extension is the quantiles as a delay.Extension.
func extension(q []time.Duration) string {
	var b strings.Builder
	b.WriteString("quantiles:\n")
	for i, d := range q {
		fmt.Fprintf(&b, "  p%g: %s\n", percents[i], d)
	}
	return b.String()
}

// delayForKwok is uniform, with the same mean.
func delayForKwok(q []time.Duration) *v1alpha1.StageDelay {
	mean := 0.0
	for i := 1; i < len(q); i++ {
		mean += (percents[i] - percents[i-1]) / 100 * float64(q[i]/2+q[i-1]/2)
	}
	none, jitter := int64(0), 2*time.Duration(mean).Milliseconds()
	return &v1alpha1.StageDelay{DurationMilliseconds: &none, JitterDurationMilliseconds: &jitter}
}

// notForAStage says what else makes a transition; "" if a Stage does.
func notForAStage(t *Transition) string {
	switch {
	case t.Stage != "":
		return fmt.Sprintf("the stage %q of the log is not in Options.Stages", t.Stage)
	case t.To == record.Terminating, t.To == record.Deleted && t.From != record.Terminating:
		return "users and controllers delete objects"
	case t.Kind == "Pod" && (t.To == record.Scheduled || t.To == record.Pending):
		return "a scheduler gives Pods a node"
	case t.Kind == "Job.batch":
		return "a controller makes the status of Jobs"
	}
	return ""
}
