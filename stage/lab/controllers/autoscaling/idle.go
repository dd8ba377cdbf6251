package autoscaling

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// isIdle reports whether all further looks would find the same and write nothing until an object
// changes. Then these looks are left out, so that a cluster whose metrics are annotations can
// settle.
func (a *autoscaler) isIdle() bool {
	if !a.options.fromObjects || a.wrote || a.limitedByRate {
		return false
	}
	for _, r := range a.history.recommendations {
		if a.history.recommended && r.replicas != a.history.wanted {
			return false
		}
	}
	for _, p := range a.pods {
		if start, ok := fields.Time(p.Object, "status", "startTime"); ok && start.Add(a.options.CPUInitialization).After(a.Now) {
			return false
		}
	}
	return true
}

// wake resumes the looks after some were left out. The last of them recommended the same as all of
// them.
func (h *history) wake(now time.Time, period time.Duration) {
	h.idle = false
	last := h.next.Add(-period)
	missed := now.Sub(last) / period
	if missed == 0 {
		return
	}
	last = last.Add(missed * period)
	if n := len(h.recommendations); h.recommended {
		h.recommendations[n-1] = change{h.wanted, last}
	}
	h.next = last.Add(period)
}

// byTarget finds autoscalers by what they scale.
var byTarget = &reconcile.Index{Kind: kinds.HorizontalPodAutoscaler, Value: func(hpa *unstructured.Unstructured) string {
	ref := fields.Map(hpa.Object, "spec", "scaleTargetRef")
	gv, _ := schema.ParseGroupVersion(fields.String(ref, "apiVersion"))
	return targetKey(gv.Group, fields.String(ref, "kind"), types.NamespacedName{Namespace: hpa.GetNamespace(), Name: fields.String(ref, "name")})
}}

func targetKey(group, kind string, name types.NamespacedName) string {
	return group + " " + kind + " " + name.String()
}

// setBlind notes whether an autoscaler did not find its Pods.
func (h *histories) setBlind(name types.NamespacedName, is bool) {
	in := h.blind[name.Namespace]
	switch {
	case is && h.blind == nil:
		h.blind = map[string]map[types.NamespacedName]bool{name.Namespace: {name: true}}
	case is && in == nil:
		h.blind[name.Namespace] = map[types.NamespacedName]bool{name: true}
	case is:
		in[name] = true
	default:
		if delete(in, name); len(in) == 0 {
			delete(h.blind, name.Namespace)
		}
	}
}

// idleOfPod maps a change of a Pod to the idle autoscalers that select it, and to the autoscalers that
// did not find their Pods.
func (h *histories) idleOfPod(_ *reconcile.Cache, ch reconcile.Change) (names []types.NamespacedName) {
	if len(h.of) == 0 {
		return nil
	}
	for _, pod := range []*unstructured.Unstructured{ch.Old, ch.New} {
		if pod != nil {
			names = append(names, h.selectors.Matching(pod)...)
		}
	}
	return h.idle(ch, names)
}

// idleOfTarget maps a change of an object that can be scaled to the idle autoscalers that scale it, and
// to the autoscalers that did not find their Pods.
func (h *histories) idleOfTarget(c *reconcile.Cache, ch reconcile.Change) (names []types.NamespacedName) {
	if len(h.of) == 0 {
		return nil
	}
	kind := ch.Object().GroupVersionKind()
	return h.idle(ch, control.NamesOf(c.By(byTarget, targetKey(kind.Group, kind.Kind, control.NameOf(ch.Object())))))
}

func (h *histories) idle(ch reconcile.Change, names []types.NamespacedName) []types.NamespacedName {
	names = slices.AppendSeq(names, maps.Keys(h.blind[ch.Object().GetNamespace()]))
	return sorted(slices.DeleteFunc(names, func(name types.NamespacedName) bool {
		known := h.of[name]
		return known == nil || !known.idle
	}))
}
