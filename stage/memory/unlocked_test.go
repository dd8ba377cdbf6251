package memory_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A pause is a hook that waits in the write of the object "slow".
type pause struct {
	begun, goOn chan struct{}
}

func newPause() pause { return pause{make(chan struct{}), make(chan struct{})} }

func (p pause) hook(v *memory.Review) error {
	if v.Name.Name == "slow" && v.Kind == configMap {
		p.begun <- struct{}{}
		<-p.goOn
	}
	return nil
}

// TestASlowDecisionKeepsNobodyWaiting checks that reads and writes of other objects finish while the
// hooks of a write have not returned. Requests that wait for the write would never end: the write
// goes on only after them.
func TestASlowDecisionKeepsNobodyWaiting(t *testing.T) {
	hooks := map[string]func(pause) memory.Hooks{
		"Default":  func(p pause) memory.Hooks { return memory.Hooks{Default: p.hook} },
		"Validate": func(p pause) memory.Hooks { return memory.Hooks{Validate: p.hook} },
		"Remote": func(p pause) memory.Hooks {
			return memory.Hooks{Remote: func(v *memory.Review) func() error { return func() error { return p.hook(v) } }}
		},
		"Confirm": func(p pause) memory.Hooks {
			return memory.Hooks{Confirm: func(v *memory.Review) func() error { return func() error { return p.hook(v) } }}
		},
	}
	for name, hook := range hooks {
		t.Run(name, func(t *testing.T) {
			c, p := memory.New(memory.Options{}), newPause()
			c.Extend(hook(p))
			done := make(chan error)
			go func() {
				_, err := c.Create(context.Background(), mapNamed("slow", "1"), metav1.CreateOptions{})
				done <- err
			}()
			<-p.begun
			useOthers(t, c)
			close(p.goOn)
			go func() { // the hooks may be called once more
				for range p.begun {
				}
			}()
			require.NoError(t, <-done)
			close(p.begun)
			slow, err := c.Get(t.Context(), configMap, at("slow"))
			require.NoError(t, err)
			require.Equal(t, map[string]string{"n": "1"}, data(t, slow))
		})
	}
}

// useOthers does each kind of request about other objects.
func useOthers(t *testing.T, c *memory.Cluster) {
	ctx := t.Context()
	w, err := c.Watch(ctx, configMap, "", metav1.ListOptions{})
	require.NoError(t, err)
	defer w.Stop()
	for i := range 100 {
		name := fmt.Sprintf("quick%d", i)
		_, err := c.Create(ctx, mapNamed(name, "1"), metav1.CreateOptions{})
		require.NoError(t, err)
		require.Equal(t, name, (<-w.ResultChan()).Object.(*unstructured.Unstructured).GetName())
		_, err = c.Patch(ctx, configMap, at(name), types.MergePatchType, []byte(`{"data": {"n": "2"}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		<-w.ResultChan()
		got, err := c.Get(ctx, configMap, at(name))
		require.NoError(t, err)
		require.Equal(t, map[string]string{"n": "2"}, data(t, got))
		require.NoError(t, c.Delete(ctx, configMap, at(name), metav1.DeleteOptions{}))
		<-w.ResultChan()
	}
	list, err := c.List(ctx, configMap, "", metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, list.Items)
}

func mapNamed(name, n string) *unstructured.Unstructured {
	u := newConfigMap(map[string]any{"n": n})
	u.SetName(name)
	return u
}

// TestADecisionIsForTheStoredState checks that a write is decided again if its object has changed
// during the decision, that its patch is applied to the new state, and that this ends.
func TestADecisionIsForTheStoredState(t *testing.T) {
	for _, changes := range []int{1, 9, 10} {
		t.Run(fmt.Sprint(changes), func(t *testing.T) {
			c := memory.New(memory.Options{})
			_, err := c.Create(t.Context(), mapNamed("slow", "1"), metav1.CreateOptions{})
			require.NoError(t, err)
			validated := 0
			c.Extend(memory.Hooks{Validate: func(v *memory.Review) error {
				if v.Manager != "slow" {
					return nil
				}
				if validated++; validated <= changes {
					_, err := c.Patch(context.Background(), configMap, at("slow"), types.MergePatchType, fmt.Appendf(nil, `{"data": {"other": "%d"}}`, validated), metav1.PatchOptions{FieldManager: "quick"})
					require.NoError(t, err)
				}
				return nil
			}})
			_, err = c.Patch(t.Context(), configMap, at("slow"), types.MergePatchType, []byte(`{"data": {"n": "2"}}`), metav1.PatchOptions{FieldManager: "slow"})
			want := map[string]string{"n": "2", "other": fmt.Sprint(changes)}
			if changes == 10 {
				want["n"] = "1"
				require.True(t, apierrors.IsConflict(err))
			} else {
				require.NoError(t, err)
			}
			got, err := c.Get(t.Context(), configMap, at("slow"))
			require.NoError(t, err)
			require.Equal(t, want, data(t, got))
			require.Equal(t, min(changes+1, 10), validated)
		})
	}
}

// TestACreationIsForTheStoredState checks a creation during which the name is taken, or the
// namespace is deleted.
func TestACreationIsForTheStoredState(t *testing.T) {
	for name, meanwhile := range map[string]func(*memory.Cluster) error{
		"already exists": func(c *memory.Cluster) error {
			obj := mapNamed("slow", "2")
			obj.SetNamespace("space")
			_, err := c.Create(context.Background(), obj, metav1.CreateOptions{FieldManager: "quick"})
			return err
		},
		"is being terminated": func(c *memory.Cluster) error {
			return c.Delete(context.Background(), namespaces, types.NamespacedName{Name: "space"}, metav1.DeleteOptions{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := memory.New(memory.Options{LateCollection: true})
			require.NoError(t, c.Load(t.Context(), []byte("{apiVersion: v1, kind: Namespace, metadata: {name: space, finalizers: [a/b]}}")))
			c.Extend(memory.Hooks{Validate: func(v *memory.Review) error {
				if v.Manager == "slow" {
					if _, err := c.Get(context.Background(), configMap, v.Name); err != nil {
						_ = meanwhile(c)
					}
				}
				return nil
			}})
			obj := mapNamed("slow", "1")
			obj.SetNamespace("space")
			_, err := c.Create(t.Context(), obj, metav1.CreateOptions{FieldManager: "slow"})
			require.ErrorContains(t, err, name)
		})
	}
}

// TestAPanicOfAHookFreesTheCluster checks that a panic of a hook ends only its own write.
func TestAPanicOfAHookFreesTheCluster(t *testing.T) {
	for name, hooks := range map[string]memory.Hooks{
		"Default":  {Default: func(*memory.Review) error { panic("a fault") }},
		"Admit":    {Admit: func(*memory.Review) error { panic("a fault") }},
		"Review":   {Review: func(*memory.Review) error { panic("a fault") }},
		"Validate": {Validate: func(*memory.Review) error { panic("a fault") }},
	} {
		t.Run(name, func(t *testing.T) {
			c := memory.New(memory.Options{})
			c.Extend(hooks)
			require.PanicsWithValue(t, "a fault", func() { _, _ = c.Create(t.Context(), mapNamed("slow", "1"), metav1.CreateOptions{}) })
			_, err := c.Get(t.Context(), configMap, at("slow"))
			require.True(t, apierrors.IsNotFound(err))
			c.Extend(memory.Hooks{})
			_, err = c.Create(t.Context(), mapNamed("slow", "1"), metav1.CreateOptions{})
			require.NoError(t, err)
		})
	}
}

// TestAWriteOfAClientThatHasLeft checks that a write ends when its context ends.
func TestAWriteOfAClientThatHasLeft(t *testing.T) {
	c := memory.New(memory.Options{})
	ctx, leave := context.WithCancel(t.Context())
	calls := 0
	c.Extend(memory.Hooks{
		Default:  func(*memory.Review) error { leave(); return nil },
		Validate: func(*memory.Review) error { calls++; return nil },
	})
	_, err := c.Create(ctx, mapNamed("slow", "1"), metav1.CreateOptions{})
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, calls)
	_, err = c.Get(t.Context(), configMap, at("slow"))
	require.True(t, apierrors.IsNotFound(err))
}
