package memory_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var (
	configMap = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	hooked    = types.NamespacedName{Namespace: "default", Name: "a"}
)

func newConfigMap(data map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "default", "name": "a"}, "data": data,
	}}
}

func data(t *testing.T, obj *unstructured.Unstructured) map[string]string {
	m, _, err := unstructured.NestedStringMap(obj.Object, "data")
	require.NoError(t, err)
	return m
}

// with puts one more field into data, as a hook may: what is below the root is not changed.
func with(v *memory.Review, field string) {
	next := map[string]any{field: "x"}
	old, _, _ := unstructured.NestedMap(v.New.Object, "data")
	for k, v := range old {
		next[k] = v
	}
	v.New.Object["data"] = next
}

// TestHooksAreCalledInOrder checks that hooks see all writes of all handles: defaults first, then
// admission, remote calls, validation, and confirming calls.
func TestHooksAreCalledInOrder(t *testing.T) {
	var calls []string
	c := memory.New(memory.Options{})
	c.Extend(memory.Hooks{
		Review: func(v *memory.Review) error {
			calls = append(calls, "review")
			with(v, "admitted")
			return nil
		},
		Default: func(v *memory.Review) error {
			calls = append(calls, "default")
			with(v, "default")
			return nil
		},
		Validate: func(v *memory.Review) error {
			calls = append(calls, "validate")
			require.Equal(t, map[string]string{"default": "x", "admitted": "x", "remote": "x"}, data(t, v.New))
			return nil
		},
		Remote: func(v *memory.Review) func() error {
			return func() error {
				calls = append(calls, "remote")
				require.Equal(t, map[string]string{"default": "x", "admitted": "x"}, data(t, v.New))
				with(v, "remote")
				return nil
			}
		},
		Confirm: func(v *memory.Review) func() error {
			return func() error {
				calls = append(calls, "confirm")
				require.Equal(t, map[string]string{"default": "x", "admitted": "x", "remote": "x"}, data(t, v.New))
				require.Equal(t, "a request", v.Context().Value(key{}))
				return nil
			}
		},
	})
	_, err := c.Impersonate("jane").Create(context.WithValue(t.Context(), key{}, "a request"), newConfigMap(nil), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"default", "review", "remote", // the calls come next; then the write is repeated
		"default", "default", "review", "validate", "confirm", "default", "review", "validate"}, calls)
	stored, err := c.Get(t.Context(), configMap, hooked)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"default": "x", "admitted": "x", "remote": "x"}, data(t, stored))
}

type key struct{}

// TestWhoConfirmsMayRefuse checks that an error of a confirming call refuses the write, and that an
// invalid object leads to no such call.
func TestWhoConfirmsMayRefuse(t *testing.T) {
	c := memory.New(memory.Options{})
	asked := 0
	c.Extend(memory.Hooks{
		Validate: func(v *memory.Review) error {
			if data(t, v.New)["bad"] != "" {
				return errors.New("not valid")
			}
			return nil
		},
		Confirm: func(*memory.Review) func() error {
			return func() error { asked++; return errors.New("not now") }
		},
	})
	_, err := c.Create(t.Context(), newConfigMap(map[string]any{"bad": "x"}), metav1.CreateOptions{})
	require.EqualError(t, err, "not valid")
	require.Zero(t, asked)
	_, err = c.Create(t.Context(), newConfigMap(nil), metav1.CreateOptions{})
	require.EqualError(t, err, "not now")
	_, err = c.Get(t.Context(), configMap, hooked)
	require.True(t, apierrors.IsNotFound(err))
}

// TestRemoteCallsMayUseTheCluster checks that the cluster makes a call without its lock, repeats
// the call if the object changed meanwhile, and refuses the write, or the deletion, if the call
// fails.
func TestRemoteCallsMayUseTheCluster(t *testing.T) {
	c := memory.New(memory.Options{})
	_, err := c.Create(t.Context(), newConfigMap(nil), metav1.CreateOptions{})
	require.NoError(t, err)
	asked := 0
	c.Extend(memory.Hooks{Remote: func(v *memory.Review) func() error {
		if v.User != "jane" {
			return nil
		}
		return func() error {
			asked++
			if v.New == nil {
				return errors.New("it stays")
			}
			_, err := c.Patch(t.Context(), configMap, hooked, types.MergePatchType, []byte(`{"data": {"other": "y"}}`), metav1.PatchOptions{})
			return err
		}
	}})
	jane := c.Impersonate("jane")
	changed, err := jane.Patch(t.Context(), configMap, hooked, types.MergePatchType, []byte(`{"data": {"mine": "x"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"mine": "x", "other": "y"}, data(t, changed))
	require.Equal(t, 2, asked, "once more, because the first call changed the object")
	require.EqualError(t, jane.Delete(t.Context(), configMap, hooked, metav1.DeleteOptions{}), "it stays")
	require.NoError(t, c.Delete(t.Context(), configMap, hooked, metav1.DeleteOptions{}), "nobody has to be asked")
}

// TestARehearsedCreationKeepsItsName checks that a generated name is drawn once.
func TestARehearsedCreationKeepsItsName(t *testing.T) {
	c := memory.New(memory.Options{})
	var seen []string
	c.Extend(memory.Hooks{
		Remote: func(v *memory.Review) func() error {
			seen = append(seen, v.New.GetName())
			return func() error { return nil }
		},
		Validate: func(v *memory.Review) error { seen = append(seen, v.New.GetName()); return nil },
	})
	obj := newConfigMap(nil)
	obj.SetName("")
	obj.SetGenerateName("a-")
	made, err := c.Create(t.Context(), obj, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{made.GetName(), made.GetName()}, seen)
}

// TestHooksOfOneNameReplaceEachOther checks that hooks that are added twice are called once.
func TestHooksOfOneNameReplaceEachOther(t *testing.T) {
	c := memory.New(memory.Options{})
	var calls []string
	for _, h := range []string{"a", "b", "a"} {
		n := len(calls)
		c.Extend(memory.Hooks{Name: h, Validate: func(*memory.Review) error { calls = append(calls, fmt.Sprint(h, n)); return nil }})
		calls = append(calls, "")
	}
	calls = nil
	_, err := c.Create(t.Context(), newConfigMap(nil), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"a2", "b1"}, calls)
	require.True(t, c.HasHooks("a"))
	require.False(t, c.HasHooks("c"))
	require.True(t, c.Fork().HasHooks("b"))
}

// TestProvidedFindsAValueByItsType, of the last hooks that provide one.
func TestProvidedFindsAValueByItsType(t *testing.T) {
	c := memory.New(memory.Options{})
	_, found := memory.Provided[fmt.Stringer](c)
	require.False(t, found)
	c.Extend(memory.Hooks{Name: "a", Provides: time.Second})
	c.Extend(memory.Hooks{Name: "b", Provides: time.Minute})
	c.Extend(memory.Hooks{Name: "c"})
	v, found := memory.Provided[fmt.Stringer](c.Fork())
	require.True(t, found)
	require.Equal(t, time.Minute, v)
	c.Extend(memory.Hooks{Name: "b"})
	v, _ = memory.Provided[fmt.Stringer](c)
	require.Equal(t, time.Second, v)
}

// TestAForkHasTheHooks checks that hooks also see the writes of forks, and writes of a status.
func TestAForkHasTheHooks(t *testing.T) {
	c := memory.New(memory.Options{})
	_, err := c.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "n"}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.Extend(memory.Hooks{Validate: func(v *memory.Review) error {
		if v.Subresource == "status" {
			return errors.New("no status")
		}
		return nil
	}})
	node := schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	_, err = c.Fork().Patch(t.Context(), node, types.NamespacedName{Name: "n"}, types.MergePatchType, []byte(`{"status": {"phase": "x"}}`), metav1.PatchOptions{}, "status")
	require.EqualError(t, err, "no status")
}

// TestACallCannotMakeAnObjectThatIsNone checks metadata that a webhook has written.
func TestACallCannotMakeAnObjectThatIsNone(t *testing.T) {
	for field, value := range map[string]any{"annotations": map[string]any{"a": map[string]any{}}, "labels": []any{}, "finalizers": "a"} {
		c := memory.New(memory.Options{})
		c.Extend(memory.Hooks{Remote: func(v *memory.Review) func() error {
			return func() error {
				v.New.Object["metadata"].(map[string]any)[field] = value
				return nil
			}
		}})
		_, err := c.Create(t.Context(), newConfigMap(nil), metav1.CreateOptions{})
		require.ErrorContains(t, err, "metadata."+field+": must be")
	}
}

// TestHooksSeeWhatIsRemoved checks that Removed is called once for each object that is gone, also after
// the garbage collector deleted it, and that it can count the remaining objects in another object.
func TestHooksSeeWhatIsRemoved(t *testing.T) {
	c := memory.New(memory.Options{})
	quota := types.NamespacedName{Namespace: "default", Name: "q"}
	var gone []string
	c.Extend(memory.Hooks{Removed: func(v *memory.Review) {
		require.Nil(t, v.New)
		require.Equal(t, v.Name.Name, v.Old.GetName())
		gone = append(gone, v.Kind.Kind+" "+v.Name.Name)
		n, known := v.Count(schema.GroupResource{Resource: "configmaps"}, "default")
		require.True(t, known)
		_, known = v.Count(schema.GroupResource{Resource: "unknown"}, "default")
		require.False(t, known)
		v.PutStatus(schema.GroupVersionKind{Version: "v1", Kind: "ResourceQuota"}, quota, map[string]any{"left": int64(n)})
	}})
	require.NoError(t, c.Load(t.Context(), []byte(`{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: default}}`)))
	owner, err := c.Create(t.Context(), newConfigMap(nil), metav1.CreateOptions{})
	require.NoError(t, err)
	owned := newConfigMap(nil)
	owned.SetName("b")
	owned.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: owner.GetUID()}})
	_, err = c.Create(t.Context(), owned, metav1.CreateOptions{})
	require.NoError(t, err)
	held := newConfigMap(nil)
	held.SetName("c")
	held.SetFinalizers([]string{"example.com/wait"})
	_, err = c.Create(t.Context(), held, metav1.CreateOptions{})
	require.NoError(t, err)

	require.NoError(t, c.Delete(t.Context(), configMap, hooked, metav1.DeleteOptions{}))
	require.NoError(t, c.Delete(t.Context(), configMap, types.NamespacedName{Namespace: "default", Name: "c"}, metav1.DeleteOptions{}))
	require.Equal(t, []string{"ConfigMap a", "ConfigMap b"}, gone, "c has a finalizer")
	_, err = c.Patch(t.Context(), configMap, types.NamespacedName{Namespace: "default", Name: "c"}, types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"ConfigMap a", "ConfigMap b", "ConfigMap c"}, gone)
	q, err := c.Get(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "ResourceQuota"}, quota)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"left": int64(0)}, q.Object["status"])
}

// TestHooksChangeOtherObjects checks that a hook creates and removes other objects together with a
// write: none in a dry run, and none if the write is refused.
func TestHooksChangeOtherObjects(t *testing.T) {
	c := memory.New(memory.Options{})
	secret := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	twin := func(v *memory.Review) types.NamespacedName {
		return types.NamespacedName{Namespace: v.Name.Namespace, Name: v.Name.Name + "-twin"}
	}
	c.Extend(memory.Hooks{
		Review: func(v *memory.Review) error {
			if v.Kind != configMap {
				return nil
			}
			u := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"of": v.Name.Name}}}
			u.SetGroupVersionKind(secret)
			u.SetNamespace(twin(v).Namespace)
			u.SetName(twin(v).Name)
			v.Create(u)
			return nil
		},
		Validate: func(v *memory.Review) error {
			if v.Name.Name == "bad" {
				return errors.New("not valid")
			}
			return nil
		},
		Removed: func(v *memory.Review) {
			if v.Kind == configMap {
				v.Remove(secret, twin(v))
			}
		},
	})
	twins := func() (names []string) {
		all, err := c.List(t.Context(), secret, "", metav1.ListOptions{})
		require.NoError(t, err)
		for _, u := range all.Items {
			names = append(names, u.GetName())
			require.NotEmpty(t, u.GetUID())
			require.NotEmpty(t, u.GetResourceVersion())
			require.False(t, u.GetCreationTimestamp().Time.IsZero())
		}
		return names
	}
	watched, err := c.Watch(t.Context(), secret, "", metav1.ListOptions{})
	require.NoError(t, err)
	defer watched.Stop()
	_, err = c.Create(t.Context(), newConfigMap(nil), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.NoError(t, err)
	bad := newConfigMap(nil)
	bad.SetName("bad")
	_, err = c.Create(t.Context(), bad, metav1.CreateOptions{})
	require.Error(t, err)
	require.Empty(t, twins())
	_, err = c.Create(t.Context(), newConfigMap(nil), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"a-twin"}, twins())
	uid := (<-watched.ResultChan()).Object.(*unstructured.Unstructured).GetUID()
	_, err = c.Patch(t.Context(), configMap, hooked, types.MergePatchType, []byte(`{"data": {"x": "y"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"a-twin"}, twins(), "it exists")
	require.NoError(t, c.Delete(t.Context(), configMap, hooked, metav1.DeleteOptions{}))
	require.Empty(t, twins())
	gone := <-watched.ResultChan()
	require.Equal(t, "DELETED", string(gone.Type))
	require.Equal(t, uid, gone.Object.(*unstructured.Unstructured).GetUID())
}

// A hook that validates an object can return the faults of its name with others. If no hook refuses the object, the cluster does.
func TestFaultsOfNamesAreKnownToThoseWhoValidate(t *testing.T) {
	wrong := newConfigMap(nil)
	wrong.SetName("A_b")
	create := func(validate func(*memory.Review) error) error {
		c := memory.New(memory.Options{})
		if validate != nil {
			c.Extend(memory.Hooks{Validate: validate})
		}
		_, err := c.Create(t.Context(), wrong, metav1.CreateOptions{})
		require.True(t, apierrors.IsInvalid(err), "%v", err)
		return err
	}
	refused := create(nil)
	require.ErrorContains(t, refused, `metadata.name: Invalid value: "A_b"`)
	require.Equal(t, refused, create(func(*memory.Review) error { return nil }))
	err := create(func(v *memory.Review) error {
		return apierrors.NewInvalid(v.Kind.GroupKind(), v.Name.Name, append(v.NameFaults, field.Required(field.NewPath("data"), "")))
	})
	require.ErrorContains(t, err, `[metadata.name: Invalid value: "A_b"`)
	require.ErrorContains(t, err, "data: Required value]")
}
