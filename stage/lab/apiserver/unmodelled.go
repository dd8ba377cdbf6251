package apiserver

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/features"
)

// told are the uses of features without an effect that clients were warned of. It has at most one
// entry for each row of the table of features.
type told struct {
	mu   sync.Mutex
	uses map[string]bool
}

// isNew reports whether a use is the first one.
func (t *told) isNew(what string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.uses[what] {
		return false
	}
	if t.uses == nil {
		t.uses = map[string]bool{}
	}
	t.uses[what] = true
	return true
}

// warnOfUnmodelled warns of what a stored object asks for and does not get here, once for each kind
// and field: a client that sees it again and again would no longer read it. A dry run stores nothing.
func (c *call) warnOfUnmodelled(u *unstructured.Unstructured, dryRun []string) {
	if len(dryRun) > 0 {
		return
	}
	for _, use := range features.Find(c.of.storage, u) {
		if use.Hooks != "" && c.cluster.HasHooks(use.Hooks) {
			continue
		}
		if what := use.What(); c.server.told.isNew(what) {
			warn(c.w, what)
		}
	}
}
