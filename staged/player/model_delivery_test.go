package player_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// undelivered is in the reasons for which clusters are set aside by deliveryDeadlineSeconds.
const undelivered = " was not delivered within "

// checkDelivery is the deadline of a delivery (2.5): it counts for each cluster, from when the order for it was
// written, in the present attempt and for the present revision.
func (h *history) checkDelivery(name, why string, before v1alpha1.Status) {
	_, limit, late := strings.Cut(why, undelivered)
	if !late {
		return
	}
	h.counts["late deliveries"]++
	latest := h.chosen
	for _, at := range []time.Time{h.entered[before.ActiveStage], h.toldAt[name]} {
		if at.After(latest) {
			latest = at
		}
	}
	if deadline, err := time.ParseDuration(limit); !h.believes(latest) && (err != nil || h.now.Sub(latest) < deadline-slack) {
		h.broken("S6: cluster %s is set aside %v after its delivery began: %s", name, h.now.Sub(latest), why)
	}
}

// noteOrdered notes when a ManifestWork or an Application began to ask for what it asks for.
func (h *history) noteOrdered(k key, old, stored *unstructured.Unstructured) {
	cluster := k.name.Namespace
	if k.kind == applicationKind {
		cluster = strings.TrimPrefix(k.name.Name, "web-")
	}
	if k.kind != bindingPolicyKind && orderIn(old) != orderIn(stored) {
		h.toldAt[cluster] = h.now
	}
}

// orderIn is what a ManifestWork or an Application asks for.
func orderIn(obj *unstructured.Unstructured) string {
	source, _, _ := unstructured.NestedMap(orNothing(obj).Object, "spec", "source")
	return fmt.Sprint(orNothing(obj).GetAnnotations()[v1alpha1.RevisionAnnotation], source)
}

// noteBound notes when a Binding that lets new versions through had a cluster first.
func (h *history) noteBound(p *unstructured.Unstructured, destinations []any) {
	for _, d := range destinations {
		c := d.(map[string]any)["clusterId"].(string)
		if _, told := h.toldAt[c]; !told && !isHeld(p) {
			h.toldAt[c] = h.now
		}
	}
}

func isHeld(bindingPolicy *unstructured.Unstructured) bool {
	clauses, _, _ := unstructured.NestedSlice(bindingPolicy.Object, "spec", "downsync")
	held, _ := clauses[0].(map[string]any)["createOnly"].(bool)
	return held
}

// vouches reports whether the author of the cluster's stage, or of one that has brought it the workload, says that its clusters had
// nothing before: withdrawFirst.
func (h *history) vouches(a *actor, cluster string, d design) bool {
	i := d.stageOf(a.sees(cluster))
	return h.vouched[cluster] || i >= 0 && d.stages[i].withdraw
}

// checkGood is that a cluster is known to be good with a revision only as one that a fulfilled stage selects (1.3).
func (h *history) checkGood(a *actor, cluster string, s v1alpha1.Status, d design) {
	good := slices.ContainsFunc(d.stages, func(st plannedStage) bool {
		return st.selects(a.sees(cluster)) && stageIn(s, st.name).FulfilledWith == s.Wanted
	})
	if !good {
		h.broken("S4: cluster %s is called good with %s, and no stage that is fulfilled selects it", cluster, h.versions[s.Wanted])
	}
}
