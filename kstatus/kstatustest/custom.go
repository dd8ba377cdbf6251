package kstatustest

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/kstatus"
)

// customCurrent returns makers for the forms in which controllers of custom kinds report success,
// the most frequent form first. The rules of package kstatus decide which one fits. Phases and
// other words have no maker: which ones a kind has is not known.
func customCurrent() []maker {
	forms := []maker{asItIs}
	for _, kinds := range [][]string{{"Ready"}, {"Available"}, {"Synced", "Ready"}, {"Accepted", "Programmed"}, {"QuotaReserved", "Admitted"}, {"Complete"}, {"Deployed"}} {
		forms = append(forms, withConditions(kinds))
	}
	return forms
}

// madeUp is the reason of conditions whose controllers are not known. [Check] does not compare it.
const madeUp = "AsExpected"

// asItIs gives the existing conditions the status that means success. A status without any gets
// Ready, which most controllers write.
func asItIs(d *draft) {
	if d.drop("observedGeneration"); len(d.status) == 0 {
		withConditions([]string{"Ready"})(d)
		return
	}
	withConditions(nil)(d)
}

// withConditions adds conditions to the existing ones.
func withConditions(kinds []string) maker {
	return func(d *draft) {
		d.observeCustom()
		list := d.favorable()
		if len(list) == 0 && (d.text("status", "phase") != "" || d.text("status", "state") != "") {
			return // the controller reports by words, which are not known, and not by conditions
		}
		for _, kind := range kinds {
			if !slices.ContainsFunc(list, func(c condition) bool { return c.kind == kind }) {
				list = append(list, condition{kind, "True", madeUp, ""})
			}
		}
		d.customConditions(list)
	}
}

// customFailed makes Ready False and leaves the other conditions as they are. Stalled, which only
// some controllers write, becomes True if the object has it.
func customFailed(d *draft) {
	d.observeCustom()
	message := d.message("the object cannot be reconciled")
	list := []condition{{"Ready", "False", "ReconcileFailed", message}}
	for _, c := range d.custom() {
		kind, _ := c["type"].(string)
		switch kind {
		case "Ready", kstatus.Reconciling:
		case kstatus.Stalled:
			list = append(list, condition{kind, "True", "ReconcileFailed", message})
		default:
			status, _ := c["status"].(string)
			reason, _ := c["reason"].(string)
			text, _ := c["message"].(string)
			list = append(list, condition{kind, status, reason, text})
		}
	}
	d.customConditions(list)
}

// customPending makes Ready Unknown, and Reconciling True if the object has it: its controller has
// begun and is not done. Other conditions stay.
func customPending(d *draft) {
	d.observeCustom()
	message := d.message("the object is being reconciled")
	list := []condition{{"Ready", "Unknown", "Progressing", message}}
	for _, c := range d.custom() {
		kind, _ := c["type"].(string)
		switch kind {
		case "Ready", kstatus.Stalled:
		case kstatus.Reconciling:
			list = append(list, condition{kind, "True", "Progressing", message})
		default:
			status, _ := c["status"].(string)
			reason, _ := c["reason"].(string)
			text, _ := c["message"].(string)
			list = append(list, condition{kind, status, reason, text})
		}
	}
	d.customConditions(list)
}

// unsure returns an error if there are rules for the kind of an object, and they read none of the
// conditions that it has: the kind has other words, which are not known here.
func (d *draft) unsure(kind schema.GroupKind) error {
	own, read := false, len(d.custom()) == 0
	for _, step := range kstatus.Extended().Explain(&unstructured.Unstructured{Object: d.fields}, d.time).Steps {
		if kind.Group == "" || !strings.HasSuffix(step.Rule, "."+kind.Group) {
			continue
		}
		own = true
		for _, c := range d.custom() {
			prefix := fmt.Sprintf(`status.conditions[type="%v"]`, c["type"])
			for _, s := range step.Seen {
				read = read || strings.HasPrefix(s.Path, prefix)
			}
		}
	}
	if own && !read {
		return fmt.Errorf("it is not known what the controller of %s writes: set the status by hand", kind)
	}
	return nil
}

// observeCustom writes observedGeneration if the object has a generation.
func (d *draft) observeCustom() {
	if d.int(0, "metadata", "generation") > 0 {
		d.observe()
	}
}

// custom returns the conditions of the object.
func (d *draft) custom() []map[string]any {
	list, _ := object.Slice(d.status, "conditions")
	var out []map[string]any
	for _, item := range list {
		if c, ok := object.ToMap(item); ok && c["type"] != nil {
			out = append(out, c)
		}
	}
	return out
}

// favorable returns the existing conditions with the status that means success.
func (d *draft) favorable() []condition {
	var out []condition
	for _, c := range d.custom() {
		kind, _ := c["type"].(string)
		if kind == kstatus.Reconciling || kind == kstatus.Stalled {
			continue // success is that the condition is missing
		}
		out = append(out, condition{kind, good(kind), madeUp, ""})
	}
	return out
}

// good returns the status of a condition that package kstatus does not count as a problem.
func good(kind string) string {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Example", "metadata": map[string]any{},
		"status": map[string]any{"conditions": []any{map[string]any{"type": kind, "status": "True", "reason": madeUp}}},
	}}
	if kstatus.Extended().Generic().Compute(obj, defaultTime).Status == kstatus.Current {
		return "True"
	}
	return "False"
}

// customConditions writes conditions in the form of metav1.Condition.
func (d *draft) customConditions(list []condition) {
	if len(list) == 0 {
		d.drop("conditions")
		return
	}
	d.conditions(nil, list...)
	for i, item := range d.status["conditions"].([]any) {
		m := item.(map[string]any)
		m["message"] = list[i].message
		if generation, ok := d.status["observedGeneration"]; ok {
			m["observedGeneration"] = generation
		}
	}
}
