package audit

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// recording audits the recorded objects.
func (a *auditor) recording() {
	byObject := map[types.NamespacedName][]Seen{}
	var names []types.NamespacedName
	for _, s := range a.report.Seen {
		a.form(s)
		name := types.NamespacedName{Namespace: s.Object.GetNamespace(), Name: s.Object.GetName()}
		if byObject[name] == nil {
			names = append(names, name)
		}
		byObject[name] = append(byObject[name], s)
	}
	reconciling := false
	for _, name := range names {
		a.ready(byObject[name])
		a.tooEarly(byObject[name])
	}
	for _, s := range a.report.Seen {
		_, found := condition(s.Object, kstatus.Reconciling)
		reconciling = reconciling || found
	}
	if len(a.report.Seen) > 0 && !reconciling && a.isEverInProgress() {
		a.add(Should, `status.conditions[type="Reconciling"]`, "It is never set: while the controller works, tools see only what Ready says.",
			"Set Reconciling=True with a reason while the controller works, and Stalled=True when it needs help; or rely on Ready alone, and set it early.")
	}
}

func (a *auditor) isEverInProgress() bool {
	for _, s := range a.report.Seen {
		if s.Ours.Status == kstatus.InProgress {
			return true
		}
	}
	return false
}

// form audits one object as it stands.
func (a *auditor) form(s Seen) {
	status, reported, _ := unstructured.NestedMap(s.Object.Object, "status")
	if !reported || len(status) == 0 {
		return
	}
	switch v := status["observedGeneration"].(type) {
	case int64, float64:
	case nil:
		a.add(Must, "status.observedGeneration", "A recorded object has a status without it.", "Set it in every write of the status.")
	default:
		a.add(Must, "status.observedGeneration", fmt.Sprintf("It is a %T in a recorded object, not a number.", v), "Make it an integer.")
	}
	types := map[string]bool{}
	for _, c := range conditionsOf(s.Object) {
		kind, _ := c["type"].(string)
		path := fmt.Sprintf("status.conditions[type=%q]", kind)
		if types[kind] {
			a.add(Must, path, "It is there twice in a recorded object: which one counts depends on the tool.", "Write each type once.")
		}
		types[kind] = true
		if v := c["status"]; v != "True" && v != "False" && v != "Unknown" {
			a.add(Must, path, fmt.Sprintf("Its status is %v, which is none of True, False and Unknown.", v), "Use these three, and a reason for the rest.")
		}
		if reason, _ := c["reason"].(string); reason == "" {
			a.add(Should, path, "It has no reason: a tool that waits cannot say why.", "Set a reason in CamelCase, also for True.")
		}
	}
	if s.Ours.Basis == kstatus.BasisGuess {
		a.add(Should, "status", "A recorded status has no word that anybody knows.", "Set the condition Ready.")
	}
}

// ready audits when the condition Ready comes.
func (a *auditor) ready(seen []Seen) {
	absent, early := false, false
	for _, s := range seen {
		c, found := condition(s.Object, "Ready")
		switch {
		case !found && !early:
			absent = absent || hasStatus(s.Object)
		case c["status"] == "True" && absent && !early:
			a.add(Must, `status.conditions[type="Ready"]`, "It is absent until it is True: before that, tools that do not know the kind take the object for ready.",
				"Set Ready=Unknown or Ready=False in the first write of the status.")
			return
		}
		early = early || found
	}
	if len(seen) > 0 && !early {
		a.add(Must, `status.conditions[type="Ready"]`, "No recorded object has it: upstream's rules take every form for ready.", "Set the condition Ready.")
	}
}

func hasStatus(obj *unstructured.Unstructured) bool {
	status, _, _ := unstructured.NestedMap(obj.Object, "status")
	return len(status) > 0
}

// tooEarly finds forms that upstream's rules call Current before a later form of the same generation
// that is not.
func (a *auditor) tooEarly(seen []Seen) {
	for i, s := range seen {
		for _, later := range seen[i+1:] {
			if s.Upstream.Status == kstatus.Current && later.Object.GetGeneration() == s.Object.GetGeneration() && later.Ours.Status != kstatus.Current {
				a.add(Must, "status", fmt.Sprintf("Helm and Flux take %s for ready before it is: later it is %s.", s.Object.GetName(), later.Ours),
					"Write Ready=Unknown or Ready=False, and observedGeneration, as soon as the controller sees the object.")
				return
			}
		}
	}
}

func condition(obj *unstructured.Unstructured, kind string) (map[string]any, bool) {
	for _, c := range conditionsOf(obj) {
		if c["type"] == kind {
			return c, true
		}
	}
	return nil, false
}
