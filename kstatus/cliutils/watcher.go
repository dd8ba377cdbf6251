package cliutils

import (
	"context"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/event"
	"github.com/fluxcd/cli-utils/pkg/kstatus/watcher"
	"github.com/fluxcd/cli-utils/pkg/object"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/dynamic"

	"github.com/stagecraft-go/stagecraft/kstatus/cliutils/internal/verdict"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// NewStatusWatcher returns a status watcher with the verdicts of package kstatus/wait, for programs
// that take one, such as Zarf, and for the tasks of cli-utils. Unlike the one of cli-utils it
//
//   - reports an object that does not exist as NotFound, and a change of the verdict once,
//   - observes the children of an object instead of listing them at every change,
//   - goes on with the other kinds if one is forbidden, and finds a kind that is defined later,
//   - computes a verdict again when time alone changes it.
//
// Each object is observed alone or with its namespace, as it needs: the scope strategy of the options
// is ignored, and no kind is listed in more namespaces than the objects are in if it is namespaced.
// GeneratedResources are not reported. The kinds that Options.Supports leaves out are watched all the
// same. It is safe for concurrent use.
func NewStatusWatcher(client dynamic.Interface, mapper meta.RESTMapper, o Options) watcher.StatusWatcher {
	return statusWatcher{verdict.NewReader(mapper, verdict.Options(o)), NewTransport(client, mapper)}
}

type statusWatcher struct {
	reader  *verdict.Reader
	cluster transport.Reader
}

// Watch implements [watcher.StatusWatcher].
func (w statusWatcher) Watch(ctx context.Context, ids object.ObjMetadataSet, _ watcher.Options) <-chan event.Event {
	wanted := make([]verdict.ID, len(ids))
	for i, id := range ids {
		wanted[i] = verdict.ID{Kind: id.GroupKind, Namespace: id.Namespace, Name: id.Name}
	}
	out := make(chan event.Event)
	go func() {
		defer close(out)
		w.reader.Watch(ctx, w.cluster, wanted, func(c verdict.Change) bool {
			select {
			case out <- eventOf(c):
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	return out
}

func eventOf(c verdict.Change) event.Event {
	if c.Synced {
		return event.Event{Type: event.SyncEvent}
	}
	id := object.ObjMetadata{GroupKind: c.Kind, Namespace: c.Namespace, Name: c.Name}
	rs, err := result(id, c.Verdict)
	if err != nil {
		return event.Event{Type: event.ErrorEvent, Error: err}
	}
	return event.Event{Type: event.ResourceUpdateEvent, Resource: rs}
}
