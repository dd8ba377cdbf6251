package memory_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/dev/contract"
	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// written returns the writes since the last call in order, such as "MODIFIED p [finalizers]".
type written []*memory.Feed

func changesOf(t *testing.T, c *memory.Cluster) (w written) {
	for _, kind := range playable {
		f, err := c.Feed(kind, "", metav1.ListOptions{})
		require.NoError(t, err)
		w = append(w, f)
	}
	w.next(t) // what is there
	return w
}

func (w written) next(t *testing.T) (out []string) {
	at := map[string]int{}
	for _, f := range w {
		for e, ok := f.Next(); ok; e, ok = f.Next() {
			u := e.Object.(*unstructured.Unstructured)
			text := fmt.Sprintf("%s %s %v", e.Type, u.GetName(), u.GetFinalizers())
			version, err := strconv.Atoi(u.GetResourceVersion())
			require.NoError(t, err)
			at[text] = version
			out = append(out, text)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return at[a] - at[b] })
	return out
}

func options(policy metav1.DeletionPropagation) metav1.DeleteOptions {
	return metav1.DeleteOptions{PropagationPolicy: &policy}
}

// family creates an owner a with two dependents. b blocks the deletion of a and owns c. d also has
// another owner.
func family(t *testing.T, c *memory.Cluster) {
	a, other := create(t, c, object(configMaps, "a")), create(t, c, object(configMaps, "other"))
	b := create(t, c, owned(object(configMaps, "b"), a))
	create(t, c, owned(object(configMaps, "c"), b))
	create(t, c, owned(owned(object(configMaps, "d"), a), other))
}

var collections = []struct {
	policy metav1.DeletionPropagation
	steps  [][]string // what is written by the deletion, then by each step that writes; as on an API server, a deletion shows the object as it was
}{
	{metav1.DeletePropagationBackground, [][]string{{"DELETED a []"}, {"DELETED b []"}, {"MODIFIED d []"}, {"DELETED c []"}}},
	{metav1.DeletePropagationOrphan, [][]string{{"MODIFIED a [orphan]"}, {"MODIFIED b []"}, {"MODIFIED d []"}, {"DELETED a [orphan]"}}},
	{metav1.DeletePropagationForeground, [][]string{
		{"MODIFIED a [foregroundDeletion]"}, {"MODIFIED b [foregroundDeletion]"}, {"MODIFIED d []"}, {"DELETED c []"}, {"DELETED b [foregroundDeletion]"}, {"DELETED a [foregroundDeletion]"},
	}},
}

func TestGarbageIsCollectedInSteps(t *testing.T) {
	for _, tc := range collections {
		t.Run(string(tc.policy), func(t *testing.T) {
			c := memory.New(memory.Options{LateCollection: true})
			family(t, c)
			w := changesOf(t, c)
			require.NoError(t, c.Delete(t.Context(), configMaps, at("a"), options(tc.policy)))
			steps := [][]string{w.next(t)}
			for c.Collect() {
				if step := w.next(t); step != nil {
					steps = append(steps, step)
				}
			}
			require.Equal(t, tc.steps, steps)
		})
	}
}

func TestGarbageIsCollectedWithinTheWrite(t *testing.T) {
	for _, tc := range collections {
		t.Run(string(tc.policy), func(t *testing.T) {
			c := memory.New(memory.Options{})
			family(t, c)
			w := changesOf(t, c)
			require.NoError(t, c.Delete(t.Context(), configMaps, at("a"), options(tc.policy)))
			require.Equal(t, slices.Concat(tc.steps...), w.next(t))
			require.False(t, c.Collect())
		})
	}
}

// inBothWays runs a test with garbage collection within each write, and later.
func inBothWays(t *testing.T, test func(*testing.T, *memory.Cluster)) {
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprintf("late=%t", late), func(t *testing.T) { test(t, memory.New(memory.Options{LateCollection: late})) })
	}
}

func collectAll(c *memory.Cluster) {
	for c.Collect() {
	}
}

func TestJobsAreOrphanedByDefault(t *testing.T) {
	inBothWays(t, func(t *testing.T, c *memory.Cluster) {
		job := create(t, c, object(jobs, "a"))
		create(t, c, owned(object(pods, "p"), job))
		require.NoError(t, c.Delete(t.Context(), jobs, at("a"), metav1.DeleteOptions{}))
		collectAll(c)
		require.True(t, gone(t, c, jobs, "a"))
		p, err := c.Get(t.Context(), pods, at("p"))
		require.NoError(t, err)
		require.Empty(t, p.GetOwnerReferences())
	})
}

func TestADependentThatComesTooLateIsCollected(t *testing.T) {
	inBothWays(t, func(t *testing.T, c *memory.Cluster) {
		a, b := create(t, c, object(configMaps, "a")), create(t, c, object(configMaps, "b"))
		require.NoError(t, c.Delete(t.Context(), configMaps, at("a"), metav1.DeleteOptions{}))
		create(t, c, owned(object(pods, "late"), a))
		create(t, c, owned(owned(object(pods, "both"), a), b))
		collectAll(c)
		require.True(t, gone(t, c, pods, "late"))
		both, err := c.Get(t.Context(), pods, at("both"))
		require.NoError(t, err)
		require.Equal(t, []metav1.OwnerReference{owned(object(pods, ""), b).GetOwnerReferences()[0]}, both.GetOwnerReferences())
	})
}

func TestAnOwnerOfTheSameNameIsNotTheOwner(t *testing.T) {
	inBothWays(t, func(t *testing.T, c *memory.Cluster) {
		before := create(t, c, object(configMaps, "a"))
		require.NoError(t, c.Delete(t.Context(), configMaps, at("a"), metav1.DeleteOptions{}))
		create(t, c, object(configMaps, "a"))
		create(t, c, owned(object(pods, "p"), before))
		collectAll(c)
		require.True(t, gone(t, c, pods, "p"))
		require.False(t, gone(t, c, configMaps, "a"))
	})
}

func TestAnOwnerThatWasNeverThere(t *testing.T) {
	for _, required := range []bool{false, true} {
		c := memory.New(memory.Options{RequireOwners: required})
		owner := object(configMaps, "a")
		owner.SetUID("never-there")
		create(t, c, owned(object(pods, "p"), owner))
		require.Equal(t, required, gone(t, c, pods, "p"))
	}
}

func TestOwnersOfUnknownKindsAreTakenAsPresent(t *testing.T) {
	inBothWays(t, func(t *testing.T, c *memory.Cluster) {
		create(t, c, owned(object(pods, "p"), object(widgets, "w")))
		collectAll(c)
		require.False(t, gone(t, c, pods, "p"))
	})
}

func TestDependentsGoWithTheDefinitionOfTheirOwners(t *testing.T) {
	inBothWays(t, func(t *testing.T, c *memory.Cluster) {
		require.NoError(t, c.Load(t.Context(), []byte(widget+"\n---\n"+contract.Definitions)))
		w, err := c.Get(t.Context(), widgets, at("w"))
		require.NoError(t, err)
		create(t, c, owned(object(pods, "p"), w))
		crds := schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
		require.NoError(t, c.Delete(t.Context(), crds, at("widgets.example.com"), metav1.DeleteOptions{}))
		collectAll(c)
		require.True(t, gone(t, c, pods, "p"))
	})
}

// A controller that does not know yet that the owner is being deleted creates the second one.
func TestADependentIsCreatedWhileItsOwnerWaits(t *testing.T) {
	inBothWays(t, func(t *testing.T, c *memory.Cluster) {
		a := create(t, c, object(configMaps, "a"))
		first := owned(object(pods, "first"), a)
		first.SetFinalizers([]string{"example.com/wait"})
		create(t, c, first)
		require.NoError(t, c.Delete(t.Context(), configMaps, at("a"), options(metav1.DeletePropagationForeground)))
		collectAll(c)
		create(t, c, owned(object(pods, "second"), a))
		collectAll(c)
		merge(t, c, pods, "first", `{"metadata": {"finalizers": null}}`)
		collectAll(c)
		require.True(t, gone(t, c, pods, "second"))
		require.True(t, gone(t, c, configMaps, "a"))
	})
}

func TestADependentThatBlocksNoLongerReleasesItsOwner(t *testing.T) {
	for name, refs := range map[string]string{"gone": "null", "not blocking": `[{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": %q}]`} {
		t.Run(name, func(t *testing.T) {
			inBothWays(t, func(t *testing.T, c *memory.Cluster) {
				a := create(t, c, object(configMaps, "a"))
				p := owned(object(pods, "p"), a)
				p.SetFinalizers([]string{"example.com/wait"})
				create(t, c, p)
				require.NoError(t, c.Delete(t.Context(), configMaps, at("a"), options(metav1.DeletePropagationForeground)))
				collectAll(c)
				require.False(t, gone(t, c, configMaps, "a"))
				merge(t, c, pods, "p", `{"metadata": {"ownerReferences": `+strings.ReplaceAll(refs, "%q", strconv.Quote(string(a.GetUID())))+`}}`)
				collectAll(c)
				require.True(t, gone(t, c, configMaps, "a"))
			})
		})
	}
}

func TestOwnersInACycleGo(t *testing.T) {
	inBothWays(t, func(t *testing.T, c *memory.Cluster) {
		a := create(t, c, object(configMaps, "a"))
		b := create(t, c, owned(object(configMaps, "b"), a))
		refs := fmt.Sprintf(`[{"apiVersion": "v1", "kind": "ConfigMap", "name": "b", "uid": %q, "blockOwnerDeletion": true}]`, b.GetUID())
		merge(t, c, configMaps, "a", `{"metadata": {"ownerReferences": `+refs+`}}`)
		require.NoError(t, c.Delete(t.Context(), configMaps, at("a"), options(metav1.DeletePropagationForeground)))
		collectAll(c)
		require.True(t, gone(t, c, configMaps, "a"))
		require.True(t, gone(t, c, configMaps, "b"))
	})
}

func TestAForkBetweenSteps(t *testing.T) {
	for _, tc := range collections {
		c := memory.New(memory.Options{LateCollection: true})
		family(t, c)
		require.NoError(t, c.Delete(t.Context(), configMaps, at("a"), options(tc.policy)))
		var forks []*memory.Cluster
		for more := true; more; more = c.Collect() {
			forks = append(forks, c.Fork())
		}
		require.Greater(t, len(forks), 3)
		for i, f := range forks {
			collectAll(f)
			require.Equal(t, dump(t, c), dump(t, f), "%s, fork %d", tc.policy, i)
		}
	}
}

func TestUncollectedSaysSinceWhen(t *testing.T) {
	now := time.Unix(100, 0)
	c := memory.New(memory.Options{LateCollection: true, Now: func() time.Time { return now }})
	family(t, c)
	_, waits := c.Uncollected()
	require.False(t, waits)
	require.NoError(t, c.Delete(t.Context(), configMaps, at("a"), metav1.DeleteOptions{}))
	now = now.Add(time.Minute)
	since, waits := c.Uncollected()
	require.True(t, waits)
	require.Equal(t, time.Unix(100, 0), since)
	require.True(t, c.Collect()) // b, so that c waits from now on
	require.True(t, c.Collect())
	since, _ = c.Uncollected()
	require.Equal(t, now, since)
}

func TestNothingIsLeftUncollected(t *testing.T) {
	for seed := range uint64(effort.Of(50)) {
		random := rand.New(rand.NewPCG(seed, 1))
		c := memory.New(memory.Options{Seed: seed, LateCollection: true})
		p := caller{rand.New(rand.NewPCG(seed, 0)), t, c}
		for range 300 {
			p.call()
			for range random.IntN(3) {
				c.Collect()
			}
		}
		collectAll(c)
		requireNothingOutlivesItsOwners(t, c)
	}
}
