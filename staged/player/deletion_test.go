package player_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged/manifestwork"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

var policyName = types.NamespacedName{Name: "s"}

func (f *fleet) deletePolicy(p metav1.DeletionPropagation) {
	f.t.Helper()
	require.NoError(f.t, f.hub.Delete(f.t.Context(), stagedPolicyKind, policyName, metav1.DeleteOptions{PropagationPolicy: &p}))
}

// isGone reports whether the StagedBindingPolicy does not exist any more.
func (f *fleet) isGone() bool {
	_, err := f.hub.Get(f.t.Context(), stagedPolicyKind, policyName)
	return apierrors.IsNotFound(err)
}

// A11: with updates: Staged a deletion of any kind leaves the workload. A policy that is created again
// takes over what is there.
func TestADeletionLeavesTheWorkload(t *testing.T) {
	for _, propagation := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
		t.Run(string(propagation), func(t *testing.T) {
			eachPort(t, portPolicy, func(t *testing.T, f *fleet) {
				f.push("1")
				source := f.source()
				f.play(func() {
					f.run(40)
					require.True(t, f.holds("Succeeded"), f.message())
					f.deletePolicy(propagation)
					f.run(20)
					require.True(t, f.isGone())
					require.Equal(t, versions("1", "1"), f.have)
					require.NoError(t, f.hub.Load(t.Context(), []byte(portPolicy)))
					f.annotateAll(source)
					f.run(60)
					require.True(t, f.holds("Succeeded"), f.message())
					require.Equal(t, versions("1", "1"), f.have)
					f.bad["prod1@2"] = true
					f.push("2")
					f.run(100)
					if f.old {
						require.Equal(t, versions("2", "1"), f.have, "what was there is what a rollback gives back: %s", f.message())
					} else {
						require.Contains(t, f.message(), "until the source holds r1-")
					}
				})
			})
		})
	}
}

// source is the annotations that hold the source where the policy itself does.
func (f *fleet) source() map[string]string {
	obj, err := f.hub.Get(f.t.Context(), stagedPolicyKind, policyName)
	require.NoError(f.t, err)
	return obj.GetAnnotations()
}

func (f *fleet) annotateAll(annotations map[string]string) {
	for key, value := range annotations {
		f.annotate(key, value)
	}
}

// deletionPolicy: Delete takes the workload away, the last stage first, before the policy goes.
func TestADeletionRemovesTheLastStageFirst(t *testing.T) {
	policy := strings.Replace(portPolicy, "updates: Staged", "updates: Staged\n  deletionPolicy: Delete", 1)
	eachPort(t, policy, func(t *testing.T, f *fleet) {
		f.push("1")
		f.mayLose = true
		f.play(func() {
			f.run(40)
			require.True(t, f.holds("Succeeded"), f.message())
			isArgo := strings.Contains(t.Name(), "Application")
			f.offline["prod2"] = true // its agent confirms nothing
			f.finalize(`["example.org/transport"]`)
			f.deletePolicy(metav1.DeletePropagationBackground)
			f.run(2)
			if !isArgo {
				require.False(t, f.isGone())
				require.Contains(t, f.message(), "waits for s.stage.prod")
				require.Equal(t, "1", f.have["dev1"], "dev is the last to lose it")
			}
			delete(f.offline, "prod2")
			f.finalize("null")
			f.run(20)
			require.True(t, f.isGone())
			if isArgo {
				require.Equal(t, versions("1", "1"), f.have, "an Application belongs to those who have made it")
				return
			}
			require.Empty(t, f.list(manifestwork.Kind))
		})
	})
}

// finalize sets the finalizers by which the transport keeps what prod2 has: KubeStellar those of the
// Binding, an agent those of the ManifestWork.
func (f *fleet) finalize(finalizers string) {
	for kind, name := range map[schema.GroupVersionKind]types.NamespacedName{bindingKind: {Name: "s.stage.prod"}, manifestwork.Kind: {Namespace: "prod2", Name: "stagecraft-s"}} {
		if _, err := f.hub.Get(f.t.Context(), kind, name); err != nil {
			continue
		}
		_, err := f.hub.Patch(f.t.Context(), kind, name, types.MergePatchType, []byte(`{"metadata": {"finalizers": `+finalizers+`}}`), metav1.PatchOptions{})
		require.NoError(f.t, err)
	}
}

// A removal that never ends is abandoned by an annotation, and what is there stays.
func TestADeletionIsAbandoned(t *testing.T) {
	policy := strings.Replace(portPolicy, "updates: Staged", "updates: Staged\n  deletionPolicy: Delete", 1)
	scenario(t, policy, func(t *testing.T, f *fleet) {
		f.push("1")
		f.play(func() {
			f.run(40)
			stuck := []byte(`{"metadata": {"finalizers": ["example.org/stuck"]}}`)
			_, err := f.hub.Patch(t.Context(), bindingPolicyKind, types.NamespacedName{Name: "s.stage.prod"}, types.MergePatchType, stuck, metav1.PatchOptions{})
			require.NoError(t, err)
			f.run(1)
			f.deletePolicy(metav1.DeletePropagationBackground)
			f.run(30)
			require.False(t, f.isGone())
			require.Equal(t, "1", f.have["dev1"], "dev keeps it while prod is not done")
			require.Contains(t, f.message(), v1alpha1.AbandonAnnotation)
			f.annotate(v1alpha1.AbandonAnnotation, "true")
			f.run(2)
			require.True(t, f.isGone())
			require.Equal(t, "1", f.have["dev1"])
		})
	}, withSpace)
}

// Without a deletion policy an AtOnce policy goes as in the document: the garbage collector takes its
// BindingPolicies. With Orphan it has a finalizer, and they stay.
func TestADeletionOfAtOnce(t *testing.T) {
	plain := atOnce(stageOf("dev", devs, ""), stageOf("prod", prods, ""))
	scenario(t, plain, func(t *testing.T, f *fleet) {
		f.push("1")
		f.play(func() {
			f.run(20)
			require.Empty(t, f.finalizers())
			f.mayLose = true
			f.deletePolicy(metav1.DeletePropagationBackground)
			f.run(5)
			require.True(t, f.isGone())
			require.Equal(t, versions("", ""), f.have)
		})
	}, hubAlone, withSpace)
	scenario(t, plain, func(t *testing.T, f *fleet) {
		f.push("1")
		f.play(func() {
			f.run(20)
			f.patchPolicy(map[string]any{"spec": map[string]any{"deletionPolicy": "Orphan"}})
			f.run(1)
			require.Equal(t, []string{v1alpha1.Finalizer}, f.finalizers())
			f.deletePolicy(metav1.DeletePropagationForeground)
			f.run(5)
			require.True(t, f.isGone())
			require.Equal(t, versions("1", "1"), f.have)
			require.NoError(t, f.hub.Load(t.Context(), []byte(plain)))
			f.run(20)
			require.Empty(t, f.finalizers())
			require.True(t, f.holds("Succeeded"), f.message())
			for _, p := range f.list(bindingPolicyKind) {
				require.Len(t, p.GetOwnerReferences(), 1, "the garbage collector owns it again")
			}
		})
	}, hubAlone, withSpace)
}

func (f *fleet) finalizers() []string {
	obj, err := f.hub.Get(f.t.Context(), stagedPolicyKind, policyName)
	require.NoError(f.t, err)
	return obj.GetFinalizers()
}

// A11: the status was lost, or is one of a backup with another uid, while a cluster does not show what
// it has: nothing is changed until it does, for ten minutes at most.
func TestRecovering(t *testing.T) {
	backup := func(f *fleet) *unstructured.Unstructured {
		obj, err := f.hub.Get(f.t.Context(), stagedPolicyKind, policyName)
		require.NoError(f.t, err)
		return obj
	}
	for name, restore := range map[string]func(f *fleet, saved *unstructured.Unstructured){
		"lost": func(f *fleet, saved *unstructured.Unstructured) {
			saved.Object["status"] = nil
		},
		"restored": func(*fleet, *unstructured.Unstructured) {},
	} {
		t.Run(name, func(t *testing.T) {
			eachPort(t, portPolicy, func(t *testing.T, f *fleet) {
				f.push("1")
				f.play(func() {
					f.run(40)
					require.True(t, f.holds("Succeeded"), f.message())
				})
				saved := backup(f)
				f.push("2")
				saved.SetAnnotations(backup(f).GetAnnotations())
				f.play(func() {
					f.offline["prod1"] = true
					f.run(40)
					require.Equal(t, "1", f.have["prod1"], f.message())
					require.Equal(t, "2", f.have["prod2"], f.message())
					f.deletePolicy(metav1.DeletePropagationBackground)
					f.run(5)
				})
				status := saved.Object["status"]
				restore(f, saved)
				status, _ = saved.Object["status"].(map[string]any)
				for _, field := range []string{"uid", "resourceVersion", "finalizers"} {
					unstructured.RemoveNestedField(saved.Object, "metadata", field)
				}
				_, err := f.hub.Create(t.Context(), saved, metav1.CreateOptions{})
				require.NoError(t, err)
				if status != nil && name == "restored" {
					f.setStatus(stagedPolicyKind, policyName, status)
				}
				last := "2"
				if f.old { // KubeStellar lets another content through an open wave at once
					last = "3"
					f.push(last)
				}
				f.play(func() {
					f.run(60)
					require.Contains(t, f.message(), "nothing is changed until it is known what prod1 has", name)
					require.Equal(t, map[string]string{"dev1": "2", "prod1": "1", "prod2": "2"}, f.have)
					f.run(int(10*time.Minute/time.Second) - 30)
					require.NotContains(t, f.message(), "nothing is changed until")
					delete(f.offline, "prod1")
					f.run(60)
					require.Equal(t, versions(last, last), f.have, f.message())
					require.True(t, f.holds("Succeeded"), f.message())
				})
			})
		})
	}
}

// An eventSink receives Events.
type eventSink func(obj *unstructured.Unstructured)

func (e eventSink) Create(_ context.Context, obj *unstructured.Unstructured, _ metav1.CreateOptions) (*unstructured.Unstructured, error) {
	e(obj)
	return obj, nil
}

// eventsNamed receives the Events with a reason.
func (f *fleet) eventsNamed(reason string, note func(message string)) eventSink {
	return func(obj *unstructured.Unstructured) {
		if obj.Object["reason"] == reason {
			note(obj.Object["message"].(string))
		}
	}
}
