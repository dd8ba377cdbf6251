package listwatch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/internal/listwatch"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var (
	kind      = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	options   = listwatch.Options{Retry: time.Second, Longest: 8 * time.Second, Seed: 3}
	forbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no"))
	expired   = apierrors.NewResourceExpired("too old")
	throttled = apierrors.NewTooManyRequests("slow down", 7)
	refused   = errors.New("connection refused")
)

// A script is a cluster whose answers a test defines. It records the requests and their times.
type script struct {
	list  func(o metav1.ListOptions) (*unstructured.UnstructuredList, error)
	watch func(o metav1.ListOptions) (watch.Interface, error)
	notes []note
}

type note struct {
	at   time.Time
	what string
}

func (s *script) List(_ context.Context, _ schema.GroupVersionKind, _ string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	what := "list"
	if o.Limit == 0 {
		what = "whole"
	}
	s.notes = append(s.notes, note{time.Now(), what})
	if s.list != nil {
		return s.list(o)
	}
	return page("5", ""), nil
}

func (s *script) Watch(_ context.Context, _ schema.GroupVersionKind, _ string, o metav1.ListOptions) (watch.Interface, error) {
	s.notes = append(s.notes, note{time.Now(), "watch"})
	return s.watch(o)
}

func page(version, token string, items ...*unstructured.Unstructured) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{Object: map[string]any{}}
	list.SetResourceVersion(version)
	list.SetContinue(token)
	for _, item := range items {
		list.Items = append(list.Items, *item)
	}
	return list
}

func object(name, uid, version string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	obj.SetName(name)
	obj.SetUID(types.UID(uid))
	obj.SetResourceVersion(version)
	return obj
}

// ending is a watch that has some events, and ends after a time.
func ending(after time.Duration, events ...watch.Event) (watch.Interface, error) {
	changes := make(chan watch.Event, len(events))
	for _, e := range events {
		changes <- e
	}
	time.AfterFunc(after, func() { close(changes) })
	return watch.NewProxyWatcher(changes), nil
}

// next is a change of an object, or a bookmark, one version after the start of the watch.
func next(t watch.EventType, o metav1.ListOptions) watch.Event {
	version, _ := strconv.Atoi(o.ResourceVersion)
	return watch.Event{Type: t, Object: object("a", "u", fmt.Sprint(version+1))}
}

// requires compares the requests with want. A number is the seconds between two requests, with a
// tolerance of a tenth.
func (s *script) requires(t *testing.T, want string) {
	t.Helper()
	var gap float64
	var got []string
	words := strings.Fields(want)
	i := 0
	for _, word := range words {
		if seconds, err := strconv.ParseFloat(word, 64); err == nil {
			gap = seconds
			continue
		}
		require.Less(t, i, len(s.notes), "%s: there are %d requests", want, len(s.notes))
		got = append(got, s.notes[i].what)
		require.Equal(t, word, s.notes[i].what, "%s: after %s", want, got)
		if i > 0 {
			require.InDelta(t, gap, s.notes[i].at.Sub(s.notes[i-1].at).Seconds(), gap/10, "%s: after %s", want, got)
		}
		i, gap = i+1, 0
	}
}

// Each row of the table of the package, and what makes no sense.
func TestFailures(t *testing.T) {
	failing := func(err error) func(metav1.ListOptions) (watch.Interface, error) {
		return func(metav1.ListOptions) (watch.Interface, error) { return nil, err }
	}
	polling := options
	polling.Poll = 3 * time.Second
	for _, c := range []struct {
		name    string
		list    func(o metav1.ListOptions) (*unstructured.UnstructuredList, error)
		watch   func(o metav1.ListOptions) (watch.Interface, error)
		options listwatch.Options
		want    string
	}{
		{"a list fails", func(metav1.ListOptions) (*unstructured.UnstructuredList, error) { return nil, refused }, nil, options,
			"list 1 list 2 list 4 list 8 list 8 list"},
		{"a list gives nothing", func(metav1.ListOptions) (*unstructured.UnstructuredList, error) { return nil, nil }, nil, options,
			"list 1 list 2 list"},
		{"a list is throttled", func(metav1.ListOptions) (*unstructured.UnstructuredList, error) { return nil, throttled }, nil, options,
			"list 7 list 7 list 7 list 8 list"},
		{"a kind does not exist", func(metav1.ListOptions) (*unstructured.UnstructuredList, error) {
			return nil, apierrors.NewNotFound(schema.GroupResource{}, "")
		}, nil, options, "list 1 list 2 list 4 list 5 list 5 list"},
		{"pages expire", func(o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
			if o.Continue != "" {
				return nil, expired
			}
			if o.Limit > 0 {
				return page("5", "more"), nil
			}
			return page("5", ""), nil
		}, func(metav1.ListOptions) (watch.Interface, error) { return ending(time.Hour) }, options, "list list 1 whole watch 3600 watch"},
		{"the same page again", func(o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
			if o.Limit > 0 {
				return page("5", "again"), nil
			}
			return page("5", ""), nil
		}, func(metav1.ListOptions) (watch.Interface, error) { return ending(time.Hour) }, options, "list list 1 whole watch 3600 watch"},
		{"a watch is too old", nil, failing(expired), options, "list watch 1 list watch 2 list watch 4 list watch 8 list watch 8 list"},
		{"a watch tells that it is too old", nil, func(metav1.ListOptions) (watch.Interface, error) {
			return ending(time.Hour, watch.Event{Type: watch.Error, Object: &expired.ErrStatus})
		}, options, "list watch 1 list watch 2 list watch 4 list watch"},
		{"a watch is refused", nil, failing(forbidden), options, "list watch 1 list watch 2 list watch"},
		{"a watch is not connected", nil, failing(refused), options, "list watch 1 watch 2 list watch 4 list watch 8 list"},
		{"a watch is cut within an event", nil, func(metav1.ListOptions) (watch.Interface, error) {
			status := apierrors.NewClientErrorReporter(500, "GET", "ClientWatchDecoding").AsObject(errors.New("unable to decode"))
			return ending(time.Hour, watch.Event{Type: watch.Error, Object: status})
		}, options, "list watch 1 watch 2 list watch 4 list watch"},
		{"a watch is nothing", nil, failing(nil), options, "list watch 1 watch 2 list watch 4 list watch"},
		{"a watch is throttled", nil, failing(throttled), options, "list watch 7 watch 7 list watch 7 list watch 8 list"},
		{"a watch ends at once", nil, func(metav1.ListOptions) (watch.Interface, error) { return ending(0) }, options,
			"list watch 1 watch 2 list watch 4 list watch"},
		{"a watch ends at once after what is no object", nil, func(metav1.ListOptions) (watch.Interface, error) {
			return ending(0, watch.Event{Type: watch.Added, Object: (*unstructured.Unstructured)(nil)}, watch.Event{Type: watch.Modified})
		}, options, "list watch 1 watch 2 list watch"},
		{"a watch tells the same again and again", nil, func(metav1.ListOptions) (watch.Interface, error) {
			return ending(0, watch.Event{Type: watch.Modified, Object: object("a", "u", "5")})
		}, options, "list watch 1 watch 2 list watch"},
		{"a watch tells something and ends at once", nil, func(o metav1.ListOptions) (watch.Interface, error) {
			return ending(0, next(watch.Modified, o))
		}, options, "list watch 0.0625 watch 0.125 watch 0.25 watch 0.25 watch 0.25 watch"},
		{"a watch tells something and ends soon", nil, func(o metav1.ListOptions) (watch.Interface, error) {
			return ending(200*time.Millisecond, next(watch.Bookmark, o))
		}, options, "list watch 0.2 watch 0.2 watch 0.25 watch 0.25 watch"},
		{"a watch tells something and ends later", nil, func(o metav1.ListOptions) (watch.Interface, error) {
			return ending(1500*time.Millisecond, next(watch.Deleted, o))
		}, options, "list watch 1.5 watch 1.5 watch 1.5 watch"},
		{"a watch is quiet and ends", nil, func(metav1.ListOptions) (watch.Interface, error) { return ending(5 * time.Second) }, options,
			"list watch 5 watch 5 watch 5 watch"},
		{"a watch is forbidden, and may be polled", nil, failing(forbidden), polling, "list watch 3 list 3 list 3 list"},
		{"there is no watch", nil, nil, polling, "list 3 list 3 list 3 list"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{list: c.list, watch: c.watch}
				source := listwatch.Source{Lister: s, Kind: kind}
				if c.watch != nil {
					source.Watcher = s
				}
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour) // not at the time of an event
				defer cancel()
				listwatch.Run(ctx, source, c.options, func(listwatch.Event) { require.NoError(t, ctx.Err()) })
				s.requires(t, c.want)
			})
		})
	}
}

// TestNothingIsToldAfterTheEnd cancels the context in an event, while more events are pending.
func TestNothingIsToldAfterTheEnd(t *testing.T) {
	items := []*unstructured.Unstructured{object("a", "a", "1"), object("b", "b", "2"), object("c", "c", "3")}
	for _, last := range []listwatch.Event{{Type: listwatch.ListStarted}, {Type: listwatch.Updated, InList: true}, {Type: listwatch.Listed}, {Type: listwatch.Updated}} {
		s := &script{
			list: func(metav1.ListOptions) (*unstructured.UnstructuredList, error) { return page("3", "", items...), nil },
			watch: func(metav1.ListOptions) (watch.Interface, error) {
				changes := watch.NewFakeWithChanSize(10, false)
				for _, item := range items {
					changes.Modify(item)
				}
				return changes, nil
			},
		}
		ctx, cancel := context.WithCancel(t.Context())
		listwatch.Run(ctx, listwatch.Source{Lister: s, Watcher: s, Kind: kind}, options, func(e listwatch.Event) {
			require.NoError(t, ctx.Err())
			if e.Type == last.Type && e.InList == last.InList {
				cancel()
			}
		})
		require.Error(t, ctx.Err())
	}
}

// What the failures of the table are told as.
func TestFailuresAreTold(t *testing.T) {
	for _, c := range []struct {
		name        string
		list, watch error
		want        string
	}{
		{"list", refused, nil, "listing unlisted(connection refused)"},
		{"watch", nil, forbidden, "listing listed unwatched(" + forbidden.Error() + ")"},
		{"pages", expired, nil, "listing listing unlisted(too old)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{
					list:  func(metav1.ListOptions) (*unstructured.UnstructuredList, error) { return page("5", ""), c.list },
					watch: func(metav1.ListOptions) (watch.Interface, error) { return nil, c.watch },
				}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				var told []string
				listwatch.Run(ctx, listwatch.Source{Lister: s, Watcher: s, Kind: kind}, options, func(e listwatch.Event) { told = append(told, text(e)) })
				require.Contains(t, strings.Join(told, " "), c.want)
			})
		})
	}
}

var names = map[listwatch.EventType]string{
	listwatch.Updated: "found", listwatch.Deleted: "gone", listwatch.ListStarted: "listing", listwatch.Listed: "listed", listwatch.ListFailed: "unlisted", listwatch.WatchFailed: "unwatched",
}

func text(e listwatch.Event) string {
	switch {
	case e.Err != nil:
		return names[e.Type] + "(" + e.Err.Error() + ")"
	case e.Object != nil:
		return names[e.Type] + "(" + e.Object.GetName() + " " + string(e.Object.GetUID()) + ")"
	}
	return names[e.Type]
}

// hanging is a cluster that never answers.
type hanging struct{}

func (hanging) List(ctx context.Context, _ schema.GroupVersionKind, _ string, _ metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestAListThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		limited := options
		limited.Timeout = 5 * time.Second
		var told []string
		listwatch.Run(ctx, listwatch.Source{Lister: hanging{}, Kind: kind}, limited, func(e listwatch.Event) { told = append(told, text(e)) })
		require.Equal(t, []string{"listing", "unlisted(context deadline exceeded)", "listing"}, told[:3])

		told = nil
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		listwatch.Run(ctx, listwatch.Source{Lister: hanging{}, Kind: kind}, options, func(e listwatch.Event) { told = append(told, text(e)) })
		require.Equal(t, []string{"listing"}, told, "the end is no failure")
	})
}

func TestObjectsFindWhatWentAway(t *testing.T) {
	var o listwatch.Objects
	take := func(events ...listwatch.Event) string {
		var news []string
		for _, e := range events {
			for _, n := range o.Add(e) {
				news = append(news, text(n))
			}
		}
		return strings.Join(news, " ")
	}
	read := func(name, uid string) listwatch.Event {
		return listwatch.Event{Type: listwatch.Updated, Object: object(name, uid, "1"), InList: true}
	}
	event := func(what listwatch.EventType, name, uid string) listwatch.Event {
		return listwatch.Event{Type: what, Object: object(name, uid, "1")}
	}
	begin, end := listwatch.Event{Type: listwatch.ListStarted}, listwatch.Event{Type: listwatch.Listed}
	require.Empty(t, take(begin, read("z", "1"), read("b", "1"), read("a", "1")))
	require.Equal(t, "found(z 1) found(b 1) found(a 1) listed", take(end))
	require.Equal(t, "found(c 1)", take(event(listwatch.Updated, "c", "1")))
	require.Equal(t, "gone(c 1)", take(event(listwatch.Deleted, "c", "1")))
	require.Equal(t, "gone(b 1) found(b 2)", take(event(listwatch.Updated, "b", "2")))
	require.Equal(t, "unlisted(connection refused)", take(begin, read("x", "1"), listwatch.Event{Type: listwatch.ListFailed, Err: refused}))
	require.Equal(t, "gone(a 1) gone(z 1) found(z 2) found(b 2) listed", take(begin, begin, read("z", "2"), read("b", "2"), end))
	var names []string
	for obj := range o.All() {
		names = append(names, obj.GetName())
	}
	require.ElementsMatch(t, []string{"z", "b"}, names)
	require.Len(t, o.Clear(), 2)
	require.Empty(t, o.Clear())
}

// A rough cluster is one whose watches are cut, and whose requests fail, at random.
type rough struct {
	*memory.Cluster
	mu   sync.Mutex
	dice *rand.Rand
}

func (r *rough) throw() (refusal error, lasts time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return [15]error{expired, refused, throttled}[r.dice.IntN(15)], time.Duration(r.dice.IntN(3000)) * time.Millisecond
}

func (r *rough) List(ctx context.Context, k schema.GroupVersionKind, ns string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if err, _ := r.throw(); err != nil {
		return nil, err
	}
	if o.Limit > 0 {
		o.Limit = 7
	}
	return r.Cluster.List(ctx, k, ns, o)
}

func (r *rough) Watch(ctx context.Context, k schema.GroupVersionKind, ns string, o metav1.ListOptions) (watch.Interface, error) {
	refusal, lasts := r.throw()
	if refusal != nil {
		return nil, refusal
	}
	real, err := r.Cluster.Watch(ctx, k, ns, o)
	if err == nil {
		time.AfterFunc(lasts, real.Stop)
	}
	return real, err
}

// TestNothingIsLostOrReplayed: whatever happens to the connection, the events lead to the objects
// of the cluster, and a watch reports each version once.
func TestNothingIsLostOrReplayed(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			cluster := memory.New(memory.Options{})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			var objects listwatch.Objects
			known := map[string]string{}
			watched := map[string]bool{}
			var all sync.WaitGroup
			all.Go(func() {
				r := &rough{Cluster: cluster, dice: rand.New(rand.NewPCG(seed, 1))}
				listwatch.Run(ctx, listwatch.Source{Lister: r, Watcher: r, Kind: kind}, options, func(e listwatch.Event) {
					if e.Object != nil && !e.InList {
						version := e.Object.GetResourceVersion()
						require.False(t, watched[version], "%s again", version)
						watched[version] = true
					}
					for _, n := range objects.Add(e) {
						switch n.Type {
						case listwatch.Updated:
							known[n.Object.GetName()] = n.Object.GetResourceVersion()
						case listwatch.Deleted:
							delete(known, n.Object.GetName())
						}
					}
				})
			})
			churn(t, cluster, rand.New(rand.NewPCG(seed, 2)))
			all.Wait()
			list, err := cluster.List(t.Context(), kind, "", metav1.ListOptions{})
			require.NoError(t, err)
			want := map[string]string{}
			for _, obj := range list.Items {
				want[obj.GetName()] = obj.GetResourceVersion()
			}
			require.Equal(t, want, known)
			require.Greater(t, len(watched), 100)
		})
	}
}

// churn creates, changes and deletes objects for five minutes.
func churn(t *testing.T, c *memory.Cluster, dice *rand.Rand) {
	for range 1000 {
		name := types.NamespacedName{Namespace: "default", Name: fmt.Sprint("m", dice.IntN(30))}
		obj := object(name.Name, "", "")
		obj.SetNamespace(name.Namespace)
		switch _, err := c.Create(t.Context(), obj, metav1.CreateOptions{}); {
		case err == nil:
		case dice.IntN(3) == 0:
			require.NoError(t, c.Delete(t.Context(), kind, name, metav1.DeleteOptions{}))
		default:
			_, err := c.Patch(t.Context(), kind, name, types.MergePatchType, []byte(fmt.Sprintf(`{"data":{"n":"%d"}}`, dice.IntN(1e9))), metav1.PatchOptions{})
			require.NoError(t, err)
		}
		time.Sleep(time.Duration(dice.IntN(600)) * time.Millisecond)
	}
}
