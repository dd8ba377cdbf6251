package e2e_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// startPlaying plays Stages for the duration of a test.
func startPlaying(t *testing.T, transport transport.Transport, o player.Options, stages ...stage.Source) {
	t.Helper()
	set, err := stage.Compile(stage.Options{}, stages...)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- player.Play(ctx, set, transport, o) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
}

// phase returns the phase of a Pod, or "".
func phase(t *testing.T, cluster *kube.Cluster, namespace, name string) string {
	t.Helper()
	pod, err := cluster.Get(t.Context(), podKind, types.NamespacedName{Namespace: namespace, Name: name})
	if err != nil {
		return ""
	}
	status, _ := pod.Object["status"].(map[string]any)
	phase, _ := status["phase"].(string)
	return phase
}

var (
	configMapKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	secretKind    = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	eventKind     = schema.GroupVersionKind{Version: "v1", Kind: "Event"}
	gadgetKind    = schema.GroupVersionKind{Group: "transport.example.com", Version: "v1", Kind: "Gadget"}
)

// gadgets is the definition of a kind that is created and deleted during a test.
const gadgets = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition,
  metadata: {name: gadgets.transport.example.com}, spec: {group: transport.example.com, scope: Namespaced,
	names: {plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList}, versions: [{name: v1, served: true, storage: true, subresources: {status: {}},
	schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`

// markStage is a Stage that marks objects, once.
func markStage(kind schema.GroupVersionKind, more string) stage.Source {
	apiVersion, name := kind.ToAPIVersionAndKind()
	return stage.Parse("marking.yaml", fmt.Appendf(nil, `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: mark}
spec:
  resourceRef: {apiGroup: %s, kind: %s}
  selector: {matchExpressions: [{jq: {key: .metadata.labels.mark, operator: DoesNotExist}}]}
  steps: [{patch: {type: merge, template: "{metadata: {labels: {mark: played}}}" %s}}]`, apiVersion, name, more))
}

// countMarked counts the marked objects of a namespace.
func countMarked(t *testing.T, cluster *kube.Cluster, kind schema.GroupVersionKind, namespace string) int {
	t.Helper()
	list, err := cluster.List(t.Context(), kind, namespace, metav1.ListOptions{LabelSelector: "mark=played"})
	if apierrors.IsNotFound(err) {
		return 0
	}
	require.NoError(t, err)
	return len(list.Items)
}

// A recordingTransport records how it is used.
type recordingTransport struct {
	transport.Transport
	lists   atomic.Int64
	watches atomic.Int64
	patches atomic.Int64
	deletes atomic.Int64
	from    func(version string) string // the version to watch from; nil: the one asked for
}

func (w *recordingTransport) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	w.lists.Add(1)
	return w.Transport.List(ctx, kind, namespace, o)
}

func (w *recordingTransport) Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error) {
	w.watches.Add(1)
	if w.from != nil {
		o.ResourceVersion = w.from(o.ResourceVersion)
	}
	return w.Transport.Watch(ctx, kind, namespace, o)
}

func (w *recordingTransport) Patch(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	w.patches.Add(1)
	return w.Transport.Patch(ctx, kind, name, t, data, o, sub...)
}

func (w *recordingTransport) Delete(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, o metav1.DeleteOptions) error {
	w.deletes.Add(1)
	return w.Transport.Delete(ctx, kind, name, o)
}

// inParallel calls do n times from many goroutines.
func inParallel(n int, do func(i int)) {
	const workers = 25
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			for i := worker; i < n; i += workers {
				do(i)
			}
		})
	}
	all.Wait()
}

// TestBusyServersLoseNothing plays Pods that come and go as fast as the server accepts them. The
// server closes watches that do not keep up. Each Pod is patched once and deleted once.
func TestBusyServersLoseNothing(t *testing.T) {
	cluster := newCluster(t)
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: busy}}")
	w := &recordingTransport{Transport: cluster.Share()}
	startPlaying(t, w, player.Options{Namespace: "busy"}, presets.PodFast())
	const n = 600
	inParallel(n, func(i int) {
		create(t, cluster, fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: p%d, namespace: busy},
  spec: {nodeName: nowhere, containers: [{name: c, image: i}]}}`, i))
	})
	count := func(fields string) int {
		list, err := cluster.List(t.Context(), podKind, "busy", metav1.ListOptions{FieldSelector: fields})
		require.NoError(t, err)
		return len(list.Items)
	}
	eventually(t, "all run", func() bool { return count("status.phase=Running") == n })
	require.EqualValues(t, n, w.patches.Load())
	inParallel(n, func(i int) {
		require.NoError(t, cluster.Delete(t.Context(), podKind, types.NamespacedName{Namespace: "busy", Name: fmt.Sprint("p", i)}, metav1.DeleteOptions{GracePeriodSeconds: new(int64(30))}))
	})
	eventually(t, "all are gone", func() bool { return count("") == 0 })
	require.EqualValues(t, n, w.patches.Load())
	require.EqualValues(t, n, w.deletes.Load())
	t.Logf("%d watches, %d lists", w.watches.Load(), w.lists.Load())
}

// TestListsComeInPages plays more objects than fit into a page, each once.
func TestListsComeInPages(t *testing.T) {
	cluster := newCluster(t)
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: pages}}")
	const n = 1_050
	inParallel(n, func(i int) {
		create(t, cluster, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d, namespace: pages}}", i))
	})
	w := &recordingTransport{Transport: cluster.Share()}
	startPlaying(t, w, player.Options{Namespace: "pages"}, markStage(configMapKind, ""))
	eventually(t, "all are marked", func() bool { return countMarked(t, cluster, configMapKind, "pages") == n })
	require.EqualValues(t, 3, w.lists.Load())
	require.EqualValues(t, n, w.patches.Load())
}

// TestBookmarksMoveTheVersionOn sends the watch of the Player, and ends it early: a server sends a
// bookmark before it ends a watch.
func TestBookmarksMoveTheVersionOn(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: bookmarks}}")
	list, err := cluster.List(t.Context(), configMapKind, "bookmarks", metav1.ListOptions{})
	require.NoError(t, err)
	for _, c := range []transport.Reader{cluster, cluster.Share()} {
		changes, err := c.Watch(t.Context(), configMapKind, "bookmarks", metav1.ListOptions{ResourceVersion: list.GetResourceVersion(), AllowWatchBookmarks: true, TimeoutSeconds: new(int64(4))})
		require.NoError(t, err)
		create(t, cluster, "{apiVersion: v1, kind: ConfigMap, metadata: {generateName: c-, namespace: default}}")
		e, open := <-changes.ResultChan()
		require.True(t, open)
		require.Equal(t, watch.Bookmark, e.Type)
		require.NotEmpty(t, e.Object.(*unstructured.Unstructured).GetResourceVersion())
		changes.Stop()
	}
}

// TestVersionsThatAreTooOldAskForAList plays a kind whose watch begins before the kind was there.
func TestVersionsThatAreTooOldAskForAList(t *testing.T) {
	cluster := newCluster(t)
	defineGadgets(t, cluster)
	changes, err := cluster.Watch(t.Context(), gadgetKind, "", metav1.ListOptions{ResourceVersion: "1"})
	if err == nil {
		e := <-changes.ResultChan()
		require.Equal(t, watch.Error, e.Type)
		err = apierrors.FromObject(e.Object)
	}
	require.True(t, apierrors.IsResourceExpired(err), "%v", err)

	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: expired}}")
	w := &recordingTransport{Transport: cluster.Share()}
	w.from = func(version string) string {
		if w.watches.Load() <= 2 {
			return "1"
		}
		return version
	}
	startPlaying(t, w, player.Options{Namespace: "expired"}, markStage(gadgetKind, ""))
	eventually(t, "the watch has begun", func() bool { return w.watches.Load() > 2 })
	create(t, cluster, "{apiVersion: transport.example.com/v1, kind: Gadget, metadata: {name: a, namespace: expired}}")
	eventually(t, "what came later is marked", func() bool { return countMarked(t, cluster, gadgetKind, "expired") == 1 })
	require.EqualValues(t, 3, w.lists.Load(), "one at first, and one after each watch that was too old")
}

func defineGadgets(t *testing.T, cluster *kube.Cluster) {
	t.Helper()
	define(t, cluster, gadgets)
	t.Cleanup(func() { undefineGadgets(t, cluster) })
}

func undefineGadgets(t *testing.T, cluster *kube.Cluster) {
	t.Helper()
	ctx, crd := context.WithoutCancel(t.Context()), decode(t, gadgets)[0]
	at := types.NamespacedName{Name: crd.GetName()}
	if err := cluster.Delete(ctx, crd.GroupVersionKind(), at, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		require.NoError(t, err)
	}
	eventually(t, "the definition is gone", func() bool {
		_, err := cluster.Get(ctx, crd.GroupVersionKind(), at)
		return apierrors.IsNotFound(err)
	})
}

// TestKindsComeAndGo plays a kind before it exists, while it does, after it is gone, and when it
// has come back.
func TestKindsComeAndGo(t *testing.T) {
	cluster := newCluster(t)
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: kinds}}")
	var failures atomic.Int64
	startPlaying(t, newCluster(t), player.Options{Namespace: "kinds", MaxRetryAfter: time.Second, Trace: func(e stage.TraceEvent) {
		if e.Kind == stage.TraceFailed {
			failures.Add(1)
			if !apierrors.IsNotFound(e.Err) {
				t.Errorf("%v", e.Err)
			}
		}
	}}, markStage(gadgetKind, ""))
	for range 2 {
		defineGadgets(t, cluster)
		create(t, cluster, "{apiVersion: transport.example.com/v1, kind: Gadget, metadata: {name: a, namespace: kinds}}")
		began := time.Now()
		eventually(t, "the gadget is marked", func() bool { return countMarked(t, cluster, gadgetKind, "kinds") == 1 })
		require.Less(t, time.Since(began), 10*time.Second)
		before := failures.Load()
		undefineGadgets(t, cluster)
		_, err := cluster.Patch(t.Context(), gadgetKind, types.NamespacedName{Namespace: "kinds", Name: "a"}, types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
		require.True(t, apierrors.IsNotFound(err), "%v", err)
		eventually(t, "the player has noticed", func() bool { return failures.Load() > before })
	}
}

// TestStrategicMergePatchesOfCustomResources are refused by the server with words that do not help.
func TestStrategicMergePatchesOfCustomResources(t *testing.T) {
	cluster := newCluster(t)
	defineGadgets(t, cluster)
	create(t, cluster, "{apiVersion: transport.example.com/v1, kind: Gadget, metadata: {name: a, namespace: default}}")
	_, err := cluster.Patch(t.Context(), gadgetKind, types.NamespacedName{Namespace: "default", Name: "a"}, types.StrategicMergePatchType, []byte("{}"), metav1.PatchOptions{})
	require.True(t, apierrors.IsUnsupportedMediaType(err), "%v", err)
	require.ErrorContains(t, err, "Kind=Gadget takes no strategic merge patch")
}

// TestImpersonation patches as a user who has the permission, and as a user without it. The refusal
// is reported, and other objects continue.
func TestImpersonation(t *testing.T) {
	cluster := newCluster(t)
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: users}}")
	create(t, cluster, `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: marks, namespace: users},
  rules: [{apiGroups: [''], resources: [configmaps], verbs: [patch]}]}`)
	create(t, cluster, `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: marks,
  namespace: users}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: marks},
		subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: jane}]}`)
	refused := make(chan error, 10)
	trace := func(e stage.TraceEvent) {
		if e.Kind == stage.TraceFailed {
			refused <- e.Err
		}
	}
	startPlaying(t, cluster, player.Options{Namespace: "users", Trace: trace}, markStage(configMapKind, ", impersonation: {username: jane}"), markStage(secretKind, ", impersonation: {username: joe}"))
	create(t, cluster, "{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: users}}")
	create(t, cluster, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: users}}")
	err := <-refused
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.ErrorContains(t, err, `User "joe" cannot patch resource "secrets"`)
	eventually(t, "the other is marked", func() bool { return countMarked(t, cluster, configMapKind, "users") > 0 })
	require.Zero(t, countMarked(t, cluster, secretKind, "users"))
}

// TestEventsAreCounted checks that the repeated Event of a Stage is one Event with a count, and
// that kubectl shows it.
func TestEventsAreCounted(t *testing.T) {
	cluster := newCluster(t)
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: events}}")
	create(t, cluster, "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: events}, spec: {nodeName: nowhere, containers: [{name: c, image: i}]}}")
	startPlaying(t, cluster, player.Options{Namespace: "events"}, stage.Parse("events.yaml", []byte(`
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: restart}
spec:
  resourceRef: {kind: Pod}
  selector: {matchExpressions: [{cel: {expression: "int(self.metadata.?labels.restarts.orValue('0')) < 4"}}]}
  steps:
  - event: {type: Warning, reason: BackOff, message: Back-off restarting failed container}
    patch: {type: merge, template: "{metadata: {labels: {restarts: \"{{ add1 (or .metadata.labels.restarts 0) }}\"}}}"}`)))
	count := func() (count int64) {
		list, err := cluster.List(t.Context(), eventKind, "events", metav1.ListOptions{FieldSelector: "involvedObject.name=a,reason=BackOff"})
		require.NoError(t, err)
		require.LessOrEqual(t, len(list.Items), 1)
		if len(list.Items) == 1 {
			count, _, _ = unstructured.NestedInt64(list.Items[0].Object, "series", "count")
		}
		return count
	}
	eventually(t, "it was seen four times", func() bool { return count() == 4 })

	for _, args := range [][]string{{"get", "events"}, {"describe", "pod", "a"}, {"events", "--for", "pod/a"}} {
		out := kubectl(t, plane, append(args, "-n", "events")...)
		require.Regexp(t, `Warning +BackOff.*Back-off restarting failed container`, out)
		t.Logf("%s", out)
	}
}

// TestLeanObjectsArePatchedAsWhole checks that fields that players do not see stay in the object.
func TestLeanObjectsArePatchedAsWhole(t *testing.T) {
	cluster := newCluster(t)
	const applied = "kubectl.kubernetes.io/last-applied-configuration"
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: lean}}")
	create(t, cluster, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: lean, annotations: {"+applied+": '{}'}}}")
	startPlaying(t, cluster, player.Options{Namespace: "lean"}, stage.Parse("lean.yaml", []byte(`
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: annotate}
spec:
  resourceRef: {kind: ConfigMap}
  selector: {matchExpressions: [{jq: {key: .metadata.annotations.merged, operator: DoesNotExist}}, {jq: {key: .metadata.name, operator: In, values: [a]}}]}
  steps:
  - patch: {type: json, root: metadata, template: "[{op: add, path: /annotations/added, value: here}]"}
  - patch: {type: merge, template: "{metadata: {annotations: {merged: here}}}"}`)))
	var got *unstructured.Unstructured
	eventually(t, "it is annotated", func() bool {
		var err error
		got, err = cluster.Get(t.Context(), configMapKind, types.NamespacedName{Namespace: "lean", Name: "a"})
		return err == nil && got.GetAnnotations()["merged"] == "here"
	})
	require.Equal(t, map[string]string{applied: "{}", "added": "here", "merged": "here"}, got.GetAnnotations())
	require.Len(t, got.GetManagedFields(), 2, "of the test and of the player")
}
