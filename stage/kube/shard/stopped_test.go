package shard_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube/shard"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
)

// steps is a transition of several requests: an Event, a patch that appends, another object, and the
// patch that ends the transition.
const steps = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: work}
spec:
  resourceRef: {apiGroup: v1, kind: ConfigMap}
  selector: {matchExpressions: [{key: .data.done, operator: DoesNotExist}, {key: .data.owner, operator: DoesNotExist}]}
  steps:
  - event: {type: Normal, reason: Worked, message: worked}
  - patch: {root: data, type: merge, template: 'log: "{{ .data.log }}x"'}
  - apply: {template: '{apiVersion: v1, kind: ConfigMap, metadata: {name: "of-{{ .metadata.name }}", namespace: default}, data: {owner: "yes"}}'}
  - patch: {root: data, type: merge, template: 'done: "yes"'}
`

// A stopping process stops at one of the writes with which it plays, before or after the cluster has
// carried the write out, as with SIGSTOP. All that it sends waits until it goes on; its clock goes on.
type stopping struct {
	*wire
	mu     sync.Mutex
	writes int
	at     int
	after  bool
}

func (s *stopping) stop(ctx context.Context, kind schema.GroupVersionKind, after bool) {
	if kind == leaseKind {
		return
	}
	s.mu.Lock()
	if !after {
		s.writes++
	}
	now := s.writes == s.at && s.after == after
	s.mu.Unlock()
	if now {
		s.wire.trouble(func(l *link) { l.frozen = time.Now().Add(2*duration + time.Second) })
		if after {
			time.Sleep(2*duration + time.Second)
		}
	}
}

func (s *stopping) Patch(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	s.stop(ctx, kind, false)
	got, err := s.wire.Patch(ctx, kind, name, t, data, o, subresources...)
	s.stop(ctx, kind, true)
	return got, err
}

func (s *stopping) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	s.stop(ctx, obj.GroupVersionKind(), false)
	got, err := s.wire.Create(ctx, obj, o)
	s.stop(ctx, obj.GroupVersionKind(), true)
	return got, err
}

// A write is a request that played an object.
type write struct {
	user, verb, what string
	err              error
}

// playStopped plays one object with two members. Its owner stops at a write, and goes on when the
// other has taken over.
func playStopped(t *testing.T, at int, after bool) (writes []write, obj *unstructured.Unstructured) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		cluster := memory.New(memory.Options{Trace: func(r memory.Request) {
			mu.Lock()
			defer mu.Unlock()
			if r.Kind != leaseKind && (r.Verb == "patch" || r.Verb == "create" || r.Verb == "apply") && r.User != "" {
				writes = append(writes, write{r.User, r.Verb, r.Kind.Kind + " " + r.Name.Name, r.Err})
			}
		}})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		defer all.Wait()
		defer cancel()
		set, err := stage.Compile(stage.Options{}, stage.Parse("work.yaml", []byte(steps)))
		require.NoError(t, err)
		key := stage.Key{Version: "v1", Kind: "ConfigMap", Namespace: "default"}
		for i := range 100 {
			if key.Name = fmt.Sprint("o", i); shard.Owner([]string{"a", "b"}, key) == "a" {
				break
			}
		}
		for _, identity := range []string{"a", "b"} {
			s := &stopping{wire: &wire{link: &link{Cluster: cluster.Impersonate(identity)}}}
			if identity == "a" {
				s.at, s.after = at, after
			}
			member, err := shard.New(s.wire, shard.Options{Identity: identity})
			require.NoError(t, err)
			p := player.New(set, plain{s}, player.Options{Filter: member.Owns, Workers: 1})
			all.Go(func() { _ = member.Run(ctx, p.Refilter) })
			all.Go(func() { _ = p.Run(ctx) })
		}
		time.Sleep(10 * time.Second)
		obj = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": key.Name, "namespace": "default"}, "data": map[string]any{"log": ""}}}
		_, err = cluster.Create(ctx, obj, metav1.CreateOptions{})
		require.NoError(t, err)
		time.Sleep(3 * time.Minute)
		obj, err = cluster.Get(ctx, obj.GroupVersionKind(), types.NamespacedName{Namespace: "default", Name: key.Name})
		require.NoError(t, err)
	})
	return writes, obj
}

// TestAStoppedMemberThatGoesOn stops the owner of an object at each of its writes, before and after
// the cluster has carried the write out. The other member plays the object; then the first goes on.
// It checks the guarantee in the package comment.
func TestAStoppedMemberThatGoesOn(t *testing.T) {
	for at := 1; at <= 4; at++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint("write ", at, " after ", after), func(t *testing.T) {
				writes, obj := playStopped(t, at, after)
				count, taken := map[string]int{}, false
				for _, w := range writes {
					t.Log(w)
					if w.err != nil {
						continue
					}
					count[w.verb+" "+w.what]++
					self := w.what == "ConfigMap "+obj.GetName()
					require.False(t, taken && self && w.user == "a", "no change of the old owner after one of the new owner")
					taken = taken || self && w.user == "b"
				}
				data, _, _ := unstructured.NestedStringMap(obj.Object, "data")
				require.Equal(t, "yes", data["done"], "nothing is lost")
				require.Equal(t, count["patch ConfigMap "+obj.GetName()]-1, len(data["log"]))
				again := at == 2 && after || at == 3 || at == 4 && !after // between the first patch and the last
				require.Equal(t, map[bool]string{false: "x", true: "xx"}[again], data["log"], "the transition begins again")
				events := 0
				for what, n := range count {
					if strings.HasPrefix(what, "create Event ") {
						events += n
					}
				}
				require.LessOrEqual(t, events, 2)
			})
		}
	}
}
