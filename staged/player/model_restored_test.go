package player_test

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// What the model excuses after a status was lost or restored.

// restored notes that a status was lost, or is an old one.
func (h *history) restored(what string, s v1alpha1.Status) {
	h.note("restored: %s, to version %d", what, s.Version)
	h.counts["restored: "+what]++
	h.trust, h.lostStatus, h.restoring, h.restoredIn, h.apart = true, h.lostStatus || what == "again" || s.ActiveStage == "", h.now, h.steps, h.apart || what == "the hub" && h.kind == overSpace
	if at, known := h.chosenAt[s.Wanted]; known {
		h.chosen = at
	}
	if h.unseen = h.newestVersion() <= s.Version; !h.unseen {
		h.asked = h.steps // what exists shows that the status is old
	}
	for name := range h.members {
		if what == "the space" || h.isOrphaned(name) {
			h.released[name] = true // agents do what the old space says, and a transport removes what no BindingPolicy asks for
		}
	}
}

// isOrphaned reports whether a cluster has a ManifestWork of a BindingPolicy that does not exist, over K1.
func (h *history) isOrphaned(cluster string) bool {
	return h.kind == overSpace && slices.ContainsFunc(h.space.list(manifestWorkKind), func(work *unstructured.Unstructured) bool {
		return work.GetNamespace() == cluster && h.hub.get(bindingPolicyKind, "", work.GetName()) == nil
	})
}

// newestVersion is the newest version that a placement carries.
func (h *history) newestVersion() (newest int64) {
	for _, kind := range []key{{kind: bindingPolicyKind}, {kind: manifestWorkKind}, {kind: applicationKind}} {
		for _, obj := range h.hub.list(kind.kind) {
			newest = max(newest, versionIn(obj))
		}
	}
	return newest
}

func versionIn(obj *unstructured.Unstructured) (n int64) {
	_, _ = fmt.Sscan(obj.GetAnnotations()[v1alpha1.VersionAnnotation], &n)
	return n
}

// believes reports whether what was counted since a time rests on a status of before: one that was restored. Where nothing shows
// that, the pause until somebody looks counts too, which is a minute at most (2.4).
func (h *history) believes(since time.Time) bool {
	return h.trust && (!since.After(h.restoring) || h.unseen && since.Sub(h.restoring) < time.Minute)
}

// wasFulfilled reports whether a stage was once fulfilled for what a restored status says.
func (h *history) wasFulfilled(stage string, s v1alpha1.Status, d design) bool {
	return h.ever[stage][s.Wanted] || !d.staged && len(h.ever[stage]) > 0
}
