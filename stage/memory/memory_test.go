package memory_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/internal/dev/contract"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var (
	pods       = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	configMaps = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	namespaces = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	jobs       = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	widgets    = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
)

const widget = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: default}, spec: {size: 1}, status: {phase: Old}}"

func at(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}

func object(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(kind)
	u.SetName(name)
	u.SetNamespace("default")
	return u
}

func owned(u, owner *unstructured.Unstructured) *unstructured.Unstructured {
	u.SetOwnerReferences(append(u.GetOwnerReferences(), metav1.OwnerReference{
		APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(), BlockOwnerDeletion: new(true),
	}))
	return u
}

func create(t testing.TB, c *memory.Cluster, u *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	out, err := c.Create(t.Context(), u, metav1.CreateOptions{})
	require.NoError(t, err)
	return out
}

func merge(t testing.TB, c *memory.Cluster, kind schema.GroupVersionKind, name, body string, sub ...string) {
	t.Helper()
	mergeIn(t, c, kind, at(name), body, sub...)
}

func gone(t testing.TB, c *memory.Cluster, kind schema.GroupVersionKind, name string) bool {
	t.Helper()
	return goneFrom(t, c, kind, "default", name)
}

var background = metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}

func names(list *unstructured.UnstructuredList) (out []string) {
	for _, u := range list.Items {
		out = append(out, u.GetName())
	}
	return out
}

// story reads n events and writes them as "ADDED a".
func story(w watch.Interface, n int) (out []string) {
	for range n {
		e := <-w.ResultChan()
		if u, ok := e.Object.(*unstructured.Unstructured); ok {
			out = append(out, fmt.Sprintf("%s %s", e.Type, u.GetName()))
		} else {
			out = append(out, fmt.Sprintf("%s %s", e.Type, e.Object.(*metav1.Status).Reason))
		}
	}
	return out
}

func ExampleCluster() {
	cluster := memory.New(memory.Options{})
	err := cluster.Load(context.Background(), []byte(`
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: shop}
---
apiVersion: v1
kind: Pod
metadata: {name: web-1, namespace: shop, labels: {app: web}}
`))
	if err != nil {
		fmt.Println(err)
	}
	list, _ := cluster.List(context.Background(), pods, "shop", metav1.ListOptions{LabelSelector: "app=web"})
	fmt.Println(list.GetResourceVersion(), names(list))
	// Output: 3 [web-1]
}

func TestUIDsDependOnSeedPlaceAndIncarnationOnly(t *testing.T) {
	uid := func(seed uint64, names ...string) (last types.UID) {
		c := memory.New(memory.Options{Seed: seed})
		for _, name := range names {
			last = create(t, c, object(configMaps, name)).GetUID()
			require.NoError(t, c.Delete(t.Context(), configMaps, at(name), metav1.DeleteOptions{}))
		}
		return last
	}
	require.Equal(t, uid(1, "a"), uid(1, "b", "a"))
	require.NotEqual(t, uid(1, "a"), uid(2, "a"))
	require.NotEqual(t, uid(1, "a"), uid(1, "a", "a"))
	require.Len(t, uid(1, "a"), 36)
}

func TestGeneratedNamesAreRepeatable(t *testing.T) {
	generate := func() (out []string) {
		c := memory.New(memory.Options{Seed: 7})
		for range 3 {
			u := object(pods, "")
			u.SetGenerateName("web-")
			out = append(out, create(t, c, u).GetName())
		}
		return out
	}
	first := generate()
	require.Equal(t, first, generate())
	require.Regexp(t, `^web-[bcdfghjklmnpqrstvwxz2456789]{5}$`, first[0])
	require.NotEqual(t, first[0], first[1])
}

func TestTimeIsTheGivenOneInWholeSeconds(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 678, time.FixedZone("x", 3600))
	c := memory.New(memory.Options{Now: func() time.Time { return now }})
	u := object(pods, "p")
	u.Object["spec"] = map[string]any{"nodeName": "n", "terminationGracePeriodSeconds": 7}
	require.Equal(t, "2026-01-02T02:04:05Z", create(t, c, u).GetCreationTimestamp().UTC().Format(time.RFC3339))

	require.NoError(t, c.Delete(t.Context(), pods, at("p"), metav1.DeleteOptions{}))
	got, err := c.Get(t.Context(), pods, at("p"))
	require.NoError(t, err)
	require.Equal(t, "2026-01-02T02:04:12Z", got.GetDeletionTimestamp().UTC().Format(time.RFC3339))
}

func TestResultsAreCopiesUnlessShared(t *testing.T) {
	c := memory.New(memory.Options{})
	given := object(configMaps, "a")
	first := create(t, c, given)
	first.SetLabels(map[string]string{"x": "1"})
	given.SetLabels(map[string]string{"x": "2"})
	got, err := c.Get(t.Context(), configMaps, at("a"))
	require.NoError(t, err)
	require.Empty(t, got.GetLabels())

	one, err := c.Shared().Get(t.Context(), configMaps, at("a"))
	require.NoError(t, err)
	two, err := c.Shared().Get(t.Context(), configMaps, at("a"))
	require.NoError(t, err)
	require.Same(t, one, two)
	merge(t, c, configMaps, "a", `{"data": {"k": "v"}}`)
	require.Nil(t, one.Object["data"])
}

func TestListSelectsSortsAndPages(t *testing.T) {
	c := memory.New(memory.Options{})
	for _, name := range []string{"d", "b", "a", "c"} {
		u := object(pods, name)
		u.SetLabels(map[string]string{"odd": strconv.FormatBool(name == "a" || name == "c")})
		u.Object["spec"] = map[string]any{"nodeName": "node-" + name}
		create(t, c, u)
	}
	other := object(pods, "z")
	other.SetNamespace("another")
	create(t, c, other)

	list := func(namespace string, o metav1.ListOptions) *unstructured.UnstructuredList {
		l, err := c.List(t.Context(), pods, namespace, o)
		require.NoError(t, err)
		return l
	}
	require.Equal(t, []string{"z", "a", "b", "c", "d"}, names(list("", metav1.ListOptions{})))
	require.Equal(t, []string{"a", "b", "c", "d"}, names(list("default", metav1.ListOptions{})))
	require.Equal(t, []string{"a", "c"}, names(list("", metav1.ListOptions{LabelSelector: "odd=true"})))
	require.Equal(t, []string{"b"}, names(list("", metav1.ListOptions{FieldSelector: "spec.nodeName=node-b"})))

	page := list("default", metav1.ListOptions{Limit: 3})
	require.Equal(t, []string{"a", "b", "c"}, names(page))
	require.EqualValues(t, 1, *page.GetRemainingItemCount())
	require.NoError(t, c.Delete(t.Context(), pods, at("d"), metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	rest := list("default", metav1.ListOptions{Limit: 3, Continue: page.GetContinue()})
	require.Equal(t, []string{"d"}, names(rest), "a list is of one moment")
	require.Equal(t, page.GetResourceVersion(), rest.GetResourceVersion())
	require.Empty(t, rest.GetContinue())
	require.Equal(t, []string{"a", "b", "c"}, names(list("default", metav1.ListOptions{})))

	_, err := c.List(t.Context(), pods, "", metav1.ListOptions{FieldSelector: "spec.size=1"})
	require.True(t, apierrors.IsBadRequest(err))
	_, err = c.List(t.Context(), widgets, "", metav1.ListOptions{})
	require.True(t, apierrors.IsNotFound(err))
}

func TestDependentsGoWithTheirLastOwner(t *testing.T) {
	c := memory.New(memory.Options{})
	a, b := create(t, c, object(jobs, "a")), create(t, c, object(jobs, "b"))
	create(t, c, owned(owned(object(pods, "both"), a), b))
	middle := create(t, c, owned(object(configMaps, "one"), a))
	create(t, c, owned(object(configMaps, "grandchild"), middle))

	require.NoError(t, c.Delete(t.Context(), jobs, at("a"), background))
	require.True(t, gone(t, c, configMaps, "one"))
	require.True(t, gone(t, c, configMaps, "grandchild"))
	both, err := c.Get(t.Context(), pods, at("both"))
	require.NoError(t, err)
	require.Len(t, both.GetOwnerReferences(), 1)

	require.NoError(t, c.Delete(t.Context(), jobs, at("b"), background))
	require.True(t, gone(t, c, pods, "both"))
}

func TestOrphansStay(t *testing.T) {
	c := memory.New(memory.Options{})
	job := create(t, c, object(jobs, "a"))
	create(t, c, owned(object(pods, "p"), job))
	orphan := metav1.DeletePropagationOrphan
	require.NoError(t, c.Delete(t.Context(), jobs, at("a"), metav1.DeleteOptions{PropagationPolicy: &orphan}))
	p, err := c.Get(t.Context(), pods, at("p"))
	require.NoError(t, err)
	require.Empty(t, p.GetOwnerReferences())
}

func TestForegroundDeletionWaitsForDependents(t *testing.T) {
	c := memory.New(memory.Options{})
	job := create(t, c, object(jobs, "a"))
	p := owned(object(pods, "p"), job)
	p.SetFinalizers([]string{"example.com/wait"})
	create(t, c, p)
	foreground := metav1.DeletePropagationForeground
	require.NoError(t, c.Delete(t.Context(), jobs, at("a"), metav1.DeleteOptions{PropagationPolicy: &foreground}))
	got, err := c.Get(t.Context(), jobs, at("a"))
	require.NoError(t, err)
	require.Equal(t, []string{metav1.FinalizerDeleteDependents}, got.GetFinalizers())

	merge(t, c, pods, "p", `{"metadata": {"finalizers": null}}`)
	require.True(t, gone(t, c, pods, "p"))
	require.True(t, gone(t, c, jobs, "a"))
}

func TestANamespaceGoesWithItsLastObject(t *testing.T) {
	c := memory.New(memory.Options{RequireNamespaces: true})
	_, err := c.Create(t.Context(), inShop(object(pods, "p")), metav1.CreateOptions{})
	require.True(t, apierrors.IsNotFound(err))
	create(t, c, object(namespaces, "shop"))
	p := inShop(object(pods, "p"))
	p.SetFinalizers([]string{"example.com/wait"})
	create(t, c, p)
	create(t, c, inShop(object(configMaps, "c")))

	require.NoError(t, c.Delete(t.Context(), namespaces, at("shop"), metav1.DeleteOptions{}))
	require.False(t, goneFrom(t, c, configMaps, "shop", "c"), "Pods go first")
	ns, err := c.Get(t.Context(), namespaces, at("shop"))
	require.NoError(t, err)
	phase, _, _ := unstructured.NestedString(ns.Object, "status", "phase")
	require.Equal(t, "Terminating", phase)
	require.Equal(t, "All content successfully removed", conditionsOf(ns)[3]["message"], "as Kubernetes says while there are Pods")
	_, err = c.Create(t.Context(), inShop(object(configMaps, "late")), metav1.CreateOptions{})
	require.True(t, apierrors.IsForbidden(err))
	require.True(t, apierrors.HasStatusCause(err, "NamespaceTerminating"))

	mergeIn(t, c, pods, types.NamespacedName{Namespace: "shop", Name: "p"}, `{"metadata": {"finalizers": null}}`)
	require.True(t, gone(t, c, namespaces, "shop"))
}

func TestADefinitionMakesItsKindsKnownAndTakesThemAway(t *testing.T) {
	c := memory.New(memory.Options{})
	_, err := c.Create(t.Context(), object(widgets, "w"), metav1.CreateOptions{})
	require.True(t, apierrors.IsNotFound(err))
	require.NoError(t, c.Load(t.Context(), []byte(widget+"\n---\n"+contract.Definitions)), "definitions come first")
	crds := schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	crd, err := c.Get(t.Context(), crds, at("widgets.example.com"))
	require.NoError(t, err)
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	require.Len(t, conditions, 2)
	require.False(t, gone(t, c, widgets, "w"))

	require.NoError(t, c.Delete(t.Context(), crds, at("widgets.example.com"), metav1.DeleteOptions{}))
	_, err = c.List(t.Context(), widgets, "", metav1.ListOptions{})
	require.True(t, apierrors.IsNotFound(err))
}

func TestVersionsOfAKindShareTheirObjects(t *testing.T) {
	v2 := schema.GroupVersionKind{Group: "example.com", Version: "v2", Kind: "Widget"}
	c := memory.New(memory.Options{Kinds: []memory.Kind{{GroupVersionKind: widgets}, {GroupVersionKind: v2}}})
	create(t, c, object(widgets, "w"))
	got, err := c.Get(t.Context(), v2, at("w"))
	require.NoError(t, err)
	require.Equal(t, "example.com/v2", got.GetAPIVersion())
}

func TestDeletePreconditionsAreChecked(t *testing.T) {
	c := memory.New(memory.Options{})
	u := create(t, c, object(configMaps, "a"))
	for name, p := range map[string]metav1.Preconditions{
		"another uid":     {UID: new(types.UID("other"))},
		"another version": {ResourceVersion: new("1")},
	} {
		err := c.Delete(t.Context(), configMaps, at("a"), metav1.DeleteOptions{Preconditions: &p})
		require.True(t, apierrors.IsConflict(err), name)
	}
	require.NoError(t, c.Delete(t.Context(), configMaps, at("a"), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: new(u.GetUID())}}))
}

func TestADefinitionMayOfferFieldsToSelectors(t *testing.T) {
	c := memory.New(memory.Options{})
	require.NoError(t, c.Load(t.Context(), []byte(strings.ReplaceAll(contract.Definitions, "served: true,", "served: true, selectableFields: [{jsonPath: .spec.size}],")+"\n---\n"+widget)))
	for selector, want := range map[string]int{"spec.size=1": 1, "spec.size!=1": 0, "spec.size=2": 0} {
		list, err := c.List(t.Context(), widgets, "", metav1.ListOptions{FieldSelector: selector})
		require.NoError(t, err)
		require.Len(t, list.Items, want, selector)
	}
}

func TestLoadKeepsStatusAndReportsEveryError(t *testing.T) {
	c := memory.New(memory.Options{})
	err := c.Load(t.Context(), []byte(`
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Running}}
- {apiVersion: v1, kind: Nothing, metadata: {name: b}}
---
{apiVersion: v1, kind: Pod, metadata: {name: B}}
`))
	require.ErrorContains(t, err, `Nothing "b"`)
	require.ErrorContains(t, err, `Pod "B"`)
	a, err := c.Get(t.Context(), pods, at("a"))
	require.NoError(t, err)
	phase, _, _ := unstructured.NestedString(a.Object, "status", "phase")
	require.Equal(t, "Running", phase)
}

func TestDryRunsChangeNothing(t *testing.T) {
	c := memory.New(memory.Options{})
	all := []string{metav1.DryRunAll}
	_, err := c.Create(t.Context(), object(pods, "p"), metav1.CreateOptions{DryRun: all})
	require.NoError(t, err)
	require.True(t, gone(t, c, pods, "p"))
	create(t, c, object(pods, "p"))
	out, err := c.Patch(t.Context(), pods, at("p"), types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{DryRun: all})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "b"}, out.GetLabels())
	require.NoError(t, c.Delete(t.Context(), pods, at("p"), metav1.DeleteOptions{DryRun: all}))
	got, err := c.Get(t.Context(), pods, at("p"))
	require.NoError(t, err)
	require.Empty(t, got.GetLabels())
}

func TestTraceTellsWhoWroteWhat(t *testing.T) {
	var told []string
	c := memory.New(memory.Options{Trace: func(r memory.Request) {
		told = append(told, fmt.Sprintf("%s %s %s %s %s %v", r.User, r.Verb, r.Kind.Kind, r.Name, r.Subresource, r.Err == nil))
	}})
	create(t, c, object(pods, "p"))
	merge(t, c.Impersonate("kubelet"), pods, "p", `{"status": {"phase": "Running"}}`, "status")
	require.Error(t, c.Delete(t.Context(), pods, at("q"), metav1.DeleteOptions{}))
	require.Equal(t, []string{
		" create Pod default/p  true",
		"kubelet patch Pod default/p status true",
		" delete Pod default/q  false",
	}, told)
}

func TestManagedFieldsTellWhoAppliedWhat(t *testing.T) {
	c := memory.New(memory.Options{})
	body := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"1"}}`
	out, err := c.Patch(t.Context(), configMaps, at("c"), types.ApplyPatchType, []byte(body), metav1.PatchOptions{FieldManager: "one"})
	require.NoError(t, err)
	entries := out.GetManagedFields()
	require.Len(t, entries, 1)
	require.Equal(t, "one", entries[0].Manager)
	require.Equal(t, metav1.ManagedFieldsOperationApply, entries[0].Operation)
	require.JSONEq(t, `{"f:data":{"f:a":{}}}`, string(entries[0].FieldsV1.Raw))

	_, err = c.Patch(t.Context(), configMaps, at("c"), types.MergePatchType, []byte(`{"data":{"a":"2"}}`), metav1.PatchOptions{FieldManager: "two"})
	require.NoError(t, err)
	_, err = c.Patch(t.Context(), configMaps, at("c"), types.ApplyPatchType, []byte(body), metav1.PatchOptions{FieldManager: "one"})
	require.True(t, apierrors.IsConflict(err))
	require.ErrorContains(t, err, `conflict with "two" using v1: .data.a`)
}

func TestConcurrentWritersAndWatchersSeeOneHistory(t *testing.T) {
	c := memory.New(memory.Options{})
	w, err := c.Watch(t.Context(), pods, "", metav1.ListOptions{})
	require.NoError(t, err)
	defer w.Stop()
	const writers, each = 4, 50
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for j := range each {
				name := fmt.Sprintf("p-%d-%d", i, j)
				_, _ = c.Create(t.Context(), object(pods, name), metav1.CreateOptions{})
				_, _ = c.Patch(t.Context(), pods, at(name), types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
				_, _ = c.List(t.Context(), pods, "default", metav1.ListOptions{Limit: 10})
				_ = c.Delete(t.Context(), pods, at(name), metav1.DeleteOptions{})
			}
		})
	}
	last := 0
	for range 3 * writers * each {
		version, err := strconv.Atoi((<-w.ResultChan()).Object.(*unstructured.Unstructured).GetResourceVersion())
		require.NoError(t, err)
		require.Greater(t, version, last)
		last = version
	}
	wg.Wait()
}

// FuzzWrites checks that no body panics, that a stored object never changes, and that
// what Patch returns is what Get returns.
func FuzzWrites(f *testing.F) {
	seeds := byte(0)
	for given, body := range contract.Bodies(f) {
		seeds++
		f.Add(given, body, seeds%4, seeds%8 > 3)
	}
	kinds := []types.PatchType{types.MergePatchType, types.StrategicMergePatchType, types.JSONPatchType, types.ApplyPatchType}
	f.Fuzz(func(t *testing.T, given, body string, kind byte, status bool) {
		c := memory.New(memory.Options{Kinds: []memory.Kind{{GroupVersionKind: widgets, Status: true}}})
		if c.Load(t.Context(), []byte(given)) != nil {
			return
		}
		sub := []string{"status"}
		if !status {
			sub = nil
		}
		for _, gvk := range []schema.GroupVersionKind{pods, configMaps, widgets} {
			list, err := c.Shared().List(t.Context(), gvk, "", metav1.ListOptions{})
			require.NoError(t, err)
			for _, before := range list.Items {
				name := types.NamespacedName{Namespace: before.GetNamespace(), Name: before.GetName()}
				text, err := before.MarshalJSON()
				require.NoError(t, err)
				out, err := c.Patch(t.Context(), gvk, name, kinds[int(kind)%len(kinds)], []byte(body), metav1.PatchOptions{FieldManager: "m"}, sub...)
				same, err2 := before.MarshalJSON()
				require.NoError(t, err2)
				require.Equal(t, string(text), string(same))
				got, gone := c.Get(t.Context(), gvk, name)
				if err == nil && gone == nil {
					require.Equal(t, got, out)
				}
			}
		}
	})
}
