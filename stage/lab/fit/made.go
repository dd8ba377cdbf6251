package fit

import (
	"cmp"
	_ "embed"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

//go:embed pods.yaml
var podSteps []byte

// made makes a Stage for a transition without one, or says why it cannot.
func (w *writer) made(t *Transition) (v1alpha1.Stage, string) {
	kind, group, _ := strings.Cut(t.Kind, ".")
	s := v1alpha1.Stage{}
	s.APIVersion, s.Kind = v1alpha1.Group+"/"+v1alpha1.Version, v1alpha1.Kind
	s.Name = strings.ToLower(kind + "-" + t.From + "-" + t.To)
	s.Spec.ResourceRef = v1alpha1.StageResourceRef{APIGroup: strings.TrimPrefix(group+"/", "/") + cmp.Or(w.versions[t.Kind], "v1"), Kind: kind}
	s.Spec.Weight = t.Samples
	from := inState(t.Kind, t.From)
	s.Spec.Selector = &v1alpha1.StageSelector{MatchExpressions: from}
	if t.Kind == "Pod" {
		var steps map[string][]v1alpha1.StageStep
		if err := yaml.UnmarshalStrict(podSteps, &steps); err != nil {
			return s, err.Error()
		}
		s.Spec.Steps = steps[t.To]
	} else {
		s.Spec.Steps = stepsTo(&s, t.To)
	}
	if from == nil || s.Spec.Steps == nil && s.Annotations == nil {
		return s, fmt.Sprintf("how a %s comes from %s to %s is not known", t.Kind, t.From, t.To)
	}
	return s, ""
}

// stepsTo brings objects of other kinds to a state: by their phase, or by their condition Ready,
// which needs an extension.
func stepsTo(s *v1alpha1.Stage, state string) []v1alpha1.StageStep {
	status := map[string]string{record.Ready: "True", record.NotReady: "False"}[state]
	switch {
	case status != "":
		s.Annotations = map[string]string{stage.PatchesExtension: fmt.Sprintf("- condition: Ready\n  template: 'status: %q'\n", status)}
		return nil
	case state == record.Deleted:
		return []v1alpha1.StageStep{{Delete: true}}
	case state == record.Present:
		return nil
	}
	return []v1alpha1.StageStep{{Patch: &v1alpha1.StagePatch{Root: "status", Subresource: "status", Template: fmt.Sprintf("phase: %q\n", state)}}}
}

const readyStatus = `.status.conditions[]? | select(.type == "Ready") | .status`

// inState returns the selector of a state, or nil for an unknown state.
func inState(kind, state string) []v1alpha1.MatchExpression {
	deleted := requirement(".metadata.deletionTimestamp", v1alpha1.SelectorOpExists)
	free := requirement(".metadata.finalizers[]?", v1alpha1.SelectorOpDoesNotExist)
	alive := requirement(".metadata.deletionTimestamp", v1alpha1.SelectorOpDoesNotExist)
	isReady := requirement(readyStatus, v1alpha1.SelectorOpIn, "True")
	notReady := requirement(readyStatus, v1alpha1.SelectorOpNotIn, "True")
	phase := requirement(".status.phase", v1alpha1.SelectorOpIn, state)
	running := requirement(".status.phase", v1alpha1.SelectorOpIn, "Running")
	all := func(r ...v1alpha1.MatchExpression) []v1alpha1.MatchExpression { return r }
	isPod := kind == "Pod"
	switch {
	case state == "" || state == record.Present:
		return nil
	case state == record.Terminating && isPod:
		return all(deleted, free, requirement(".status.phase", v1alpha1.SelectorOpNotIn, "Succeeded", "Failed"))
	case state == record.Terminating:
		return all(deleted, free)
	case isPod && (state == record.Succeeded || state == record.Failed):
		return all(phase)
	case isPod && state == record.Scheduled:
		return all(alive, requirement(".spec.nodeName", v1alpha1.SelectorOpExists), requirement(".status.phase", v1alpha1.SelectorOpNotIn, "Running", "Succeeded", "Failed"))
	case isPod && state == record.Running:
		return all(alive, running, notReady)
	case isPod && state == record.Ready:
		return all(alive, running, isReady)
	case state == record.Ready:
		return all(alive, isReady)
	case state == record.NotReady:
		return all(alive, notReady)
	}
	return all(alive, phase)
}

func requirement(key string, operator v1alpha1.SelectorOperator, values ...string) v1alpha1.MatchExpression {
	return v1alpha1.MatchExpression{JQ: &v1alpha1.SelectorJQ{Key: key, Operator: operator, Values: values}}
}
