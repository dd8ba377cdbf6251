package upstream

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/cli-utils/pkg/kstatus/polling/event"
	"sigs.k8s.io/cli-utils/pkg/kstatus/watcher"
	"sigs.k8s.io/cli-utils/pkg/object"

	"github.com/stagecraft-go/stagecraft/kstatus/cliutils"
	"github.com/stagecraft-go/stagecraft/kstatus/cliutils/internal/verdict"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// NewStatusWatcher returns a status watcher with the verdicts of package kstatus/wait, as
// [cliutils.NewStatusWatcher] does.
func NewStatusWatcher(client dynamic.Interface, mapper meta.RESTMapper, o cliutils.Options) watcher.StatusWatcher {
	return statusWatcher{verdict.NewReader(mapper, verdict.Options(o)), cliutils.NewTransport(client, mapper)}
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
