package cliutils_test

import (
	"context"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/aggregator"
	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/collector"
	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/event"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/cli-utils/pkg/kstatus/watcher"
	"github.com/fluxcd/cli-utils/pkg/object"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	sigsevent "sigs.k8s.io/cli-utils/pkg/kstatus/polling/event"
	sigswatcher "sigs.k8s.io/cli-utils/pkg/kstatus/watcher"
	sigsobject "sigs.k8s.io/cli-utils/pkg/object"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/cliutils"
	"github.com/stagecraft-go/stagecraft/kstatus/cliutils/upstream"
)

const (
	podPending = `{apiVersion: v1, kind: Pod, metadata: {name: web, uid: a}, status: {phase: Pending}}`
	podReady   = `{apiVersion: v1, kind: Pod, metadata: {name: web, uid: a}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`
)

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// TestStatusWatcher follows a Pod until it is deleted, and an object that does not exist.
func TestStatusWatcher(t *testing.T) {
	pod := parse(t, podPending)
	client := cluster(pod)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	id := object.UnstructuredToObjMetadata(pod)
	absent := object.ObjMetadata{GroupKind: id.GroupKind, Namespace: "default", Name: "absent"}
	events := cliutils.NewStatusWatcher(client, mapper(), cliutils.Options{}).Watch(ctx, object.ObjMetadataSet{id, absent}, watcher.Options{})
	var seen []string
	for e := range events {
		switch {
		case e.Type == event.SyncEvent:
			seen = append(seen, "sync")
			_, err := client.Resource(pods).Namespace("default").Update(ctx, parse(t, podReady), metav1.UpdateOptions{})
			require.NoError(t, err)
		case e.Resource.Identifier == absent:
			require.Equal(t, status.NotFoundStatus, e.Resource.Status)
		case e.Resource.Status == status.NotFoundStatus:
			seen = append(seen, "deleted")
			cancel()
		default:
			require.Equal(t, "web", e.Resource.Resource.GetName(), "the object is there, as WaitTask wants it")
			seen = append(seen, string(e.Resource.Status))
			if e.Resource.Status == status.CurrentStatus {
				require.NoError(t, client.Resource(pods).Namespace("default").Delete(ctx, "web", metav1.DeleteOptions{}))
			}
		}
	}
	require.Equal(t, []string{"InProgress", "sync", "Current", "deleted"}, seen)
}

// TestStatusWatcherLikeHelmAndZarf waits as both do: with the collector of cli-utils, until the
// aggregate is Current.
func TestStatusWatcherLikeHelmAndZarf(t *testing.T) {
	pod := parse(t, podReady)
	cake := parse(t, `{apiVersion: bakery.example.com/v1, kind: Cake, metadata: {name: cake, creationTimestamp: "2026-01-01T00:00:00Z"}, status: {phase: Ready}}`)
	client := cluster(pod, cake)
	ids := object.ObjMetadataSet{object.UnstructuredToObjMetadata(pod), object.UnstructuredToObjMetadata(cake)}
	for name, c := range map[string]struct {
		options cliutils.Options
		want    status.Status
	}{
		"the rules":                {cliutils.Options{}, status.CurrentStatus},
		"a rule is demanded":       {cliutils.Options{Basis: kstatus.BasisKind}, status.InProgressStatus},
		"a rule, or an old object": {cliutils.Options{Basis: kstatus.BasisKind, HoldOn: time.Hour}, status.CurrentStatus},
		"upstream's rules":         {cliutils.Options{Rules: kstatus.Standard()}, status.CurrentStatus},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			w := cliutils.NewStatusWatcher(client, mapper(), c.options)
			statuses := collector.NewResourceStatusCollector(ids)
			<-statuses.ListenWithObserver(w.Watch(ctx, ids, watcher.Options{}), collector.ObserverFunc(func(all *collector.ResourceStatusCollector, e event.Event) {
				if e.Type == event.SyncEvent {
					cancel()
				}
			}))
			require.NoError(t, statuses.Error)
			var all []*event.ResourceStatus
			for _, rs := range statuses.ResourceStatuses {
				all = append(all, rs)
			}
			require.Equal(t, c.want, aggregator.AggregateStatus(all, status.CurrentStatus))
		})
	}
}

// TestStatusWatcherFindsKindsLater: the kind is defined while the watch runs.
func TestStatusWatcherFindsKindsLater(t *testing.T) {
	resets := 0
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pod := parse(t, podReady)
	id := object.UnstructuredToObjMetadata(pod)
	var mapping meta.RESTMapper = late{mapper(), &resets}
	var seen []status.Status
	for e := range cliutils.NewStatusWatcher(cluster(pod), mapping, cliutils.Options{}).Watch(ctx, object.ObjMetadataSet{id}, watcher.Options{}) {
		if e.Resource == nil {
			continue
		}
		if seen = append(seen, e.Resource.Status); e.Resource.Status == status.CurrentStatus {
			cancel()
		}
	}
	require.Equal(t, []status.Status{status.NotFoundStatus, status.CurrentStatus}, seen)
	require.Equal(t, 1, resets)
}

// TestStatusWatcherOfUpstream has the types of sigs.k8s.io/cli-utils.
func TestStatusWatcherOfUpstream(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	obj := parse(t, podReady)
	ids := sigsobject.ObjMetadataSet{sigsobject.UnstructuredToObjMetadata(obj)}
	var seen []string
	for e := range upstream.NewStatusWatcher(cluster(obj), mapper(), cliutils.Options{}).Watch(ctx, ids, sigswatcher.Options{}) {
		if e.Type == sigsevent.SyncEvent {
			cancel()
			continue
		}
		seen = append(seen, string(e.Resource.Status)+": "+e.Resource.Message)
	}
	require.Equal(t, []string{"Current: Pod is Ready"}, seen)
}

// TestStatusWatcherOfNothing syncs at once.
func TestStatusWatcherOfNothing(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	e := <-cliutils.NewStatusWatcher(cluster(), mapper(), cliutils.Options{}).Watch(ctx, nil, watcher.Options{})
	require.Equal(t, event.SyncEvent, e.Type)
}
