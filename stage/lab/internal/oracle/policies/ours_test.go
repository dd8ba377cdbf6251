package policies

import (
	"sync"
	"testing"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// playOurs plays a scenario with our controllers.
func playOurs(t *testing.T, s scenario) []string {
	return play(t, s, func(w *world, all *sync.WaitGroup) {
		o := reconcile.PlayOptions{Options: reconcile.Options{Events: true, Timing: &reconcile.Timing{
			WatchDelay: 10 * time.Microsecond, // so that the changes of an instant are seen before anything is done
		}}}
		all.Go(func() { _ = reconcile.Play(w.ctx, w.cluster, o, s.ours()...) })
	})
}
