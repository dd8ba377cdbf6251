package player

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/listwatch"
)

// KindState says whether a [Player] knows the objects of one kind.
type KindState struct {
	// Listed is the time at which the last list was complete; zero before the first list.
	Listed time.Time
	// Err says why the kind cannot be listed or watched at present; nil if it can. An expired watch
	// or a lost connection is not an error yet: a list or a new watch follows.
	Err error
}

// Kinds returns the state of each kind that the player watches. The result is empty before and
// after [Player.Run]. Any goroutine may call it.
func (p *Player) Kinds() map[schema.GroupVersionKind]KindState {
	p.watching.Lock()
	watchers := maps.Clone(p.watchers)
	p.watching.Unlock()
	states := make(map[schema.GroupVersionKind]KindState, len(watchers))
	for kind, w := range watchers {
		states[kind] = w.kindState()
	}
	return states
}

// Ready returns nil while the player plays and knows the objects of every kind. Each kind must have
// been listed once, and its list and watch must not fail at present. An unknown kind of the cluster
// needs no list. The error joins an error for each kind that is not ready. Ready is for health
// checks, and any goroutine may call it.
func (p *Player) Ready() error {
	if !p.playing.Load() {
		return errors.New("no Set is played: the player does not run, or the Nodes are not listed yet")
	}
	states := p.Kinds()
	var errs []error
	for _, kind := range slices.SortedFunc(maps.Keys(states), compareKinds) {
		if err := states[kind].ready(); err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", kind.GroupVersion(), kind.Kind, err))
		}
	}
	return errors.Join(errs...)
}

var errNotListed = errors.New("not listed yet")

func (s KindState) ready() error {
	switch {
	case apierrors.IsNotFound(s.Err):
		return nil
	case s.Err == nil && s.Listed.IsZero():
		return errNotListed
	}
	return s.Err
}

func (w *watcher) kindState() KindState {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

// note updates the state from an event of the watch.
func (s *KindState) note(e listwatch.Event) {
	switch {
	case e.Type == listwatch.Listed:
		*s = KindState{Listed: time.Now()}
	case e.Type == listwatch.ListFailed, e.Type == listwatch.WatchFailed && leadsToList(e.Err):
		s.Err = e.Err
	}
}

// leadsToList reports whether a watch failed because the server refuses it. A list follows, which
// clears the error; after other failures the watch may go on without one.
func leadsToList(err error) bool {
	var status apierrors.APIStatus
	routine := apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || apierrors.IsTooManyRequests(err)
	return errors.As(err, &status) && !routine && !apierrors.HasStatusCause(err, "ClientWatchDecoding")
}

func compareKinds(a, b schema.GroupVersionKind) int {
	return slices.Compare([]string{a.Group, a.Version, a.Kind}, []string{b.Group, b.Version, b.Kind})
}
