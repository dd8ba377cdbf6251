package definitions_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/definitions"
	"github.com/stagecraft-go/stagecraft/stage/lab/definitions/validity"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A migration is a cluster with two Hosts that are stored in v2, whose definition then stores v1.
type migration struct {
	*memory.Cluster
	t         *testing.T
	converted int // objects, since the last look
}

func newMigration(t *testing.T) *migration {
	m := &migration{t: t}
	var err error
	m.Cluster, err = newHosts(func(ctx context.Context, c memory.Conversion) ([]*unstructured.Unstructured, error) {
		m.converted += len(c.Objects)
		return renamed(ctx, c)
	})
	require.NoError(t, err)
	m.Extend(validity.Hooks())
	for _, name := range []string{"bread", "cake"} {
		require.NoError(t, m.Load(t.Context(), fmt.Appendf(nil, `{apiVersion: example.com/v2, kind: Host, metadata: {name: %s, namespace: default}, spec: {address: h}}`, name)))
	}
	require.NoError(t, m.define(`[{"op":"replace","path":"/spec/versions/0/storage","value":true},{"op":"replace","path":"/spec/versions/1/storage","value":false}]`))
	require.Zero(t, m.converted, "a new definition changes no object")
	return m
}

// define changes the definition, or its status.
func (m *migration) define(patch string, subresources ...string) error {
	_, err := m.Patch(m.t.Context(), definitions.Kind, types.NamespacedName{Name: "hosts.example.com"}, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	return err
}

// reads returns how many objects are converted when all Hosts are read in a version.
func (m *migration) reads(kind schema.GroupVersionKind) int {
	m.converted = 0
	_, err := m.List(m.t.Context(), kind, "", metav1.ListOptions{})
	require.NoError(m.t, err)
	return m.converted
}

// TestAWriteStoresInTheStorageVersion counts conversions before and after each kind of write, also one
// that changes nothing, as a migration makes it.
func TestAWriteStoresInTheStorageVersion(t *testing.T) {
	for name, write := range map[string]func(*migration) error{
		"an update that changes nothing": func(m *migration) error {
			obj, err := m.Get(t.Context(), hostV2, breads)
			require.NoError(t, err)
			_, err = m.Update(t.Context(), obj, metav1.UpdateOptions{})
			return err
		},
		"an empty patch in the old version": func(m *migration) error {
			_, err := m.Patch(t.Context(), hostV2, breads, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
			return err
		},
		"a patch in the new version": func(m *migration) error {
			_, err := m.Patch(t.Context(), hostV1, breads, types.MergePatchType, []byte(`{"spec":{"host":"g"}}`), metav1.PatchOptions{})
			return err
		},
		"an apply": func(m *migration) error {
			_, err := m.Patch(t.Context(), hostV1, breads, types.ApplyPatchType, []byte(`{"apiVersion":"example.com/v1","kind":"Host","spec":{"host":"h"}}`), metav1.PatchOptions{FieldManager: "m"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMigration(t)
			require.Equal(t, 2, m.reads(hostV1))
			require.Equal(t, 0, m.reads(hostV2), "both are stored in v2")
			require.NoError(t, write(m))
			require.Equal(t, 1, m.reads(hostV1), "one is stored in v1 now")
			require.Equal(t, 1, m.reads(hostV2))
		})
	}
}

// TestAVersionGoesWhenNothingIsStoredInIt checks that a definition keeps a version for as long as
// status.storedVersions has it, and that the objects are read without it afterwards.
func TestAVersionGoesWhenNothingIsStoredInIt(t *testing.T) {
	const remove = `[{"op":"remove","path":"/spec/versions/1"}]`
	m := newMigration(t)
	require.ErrorContains(t, m.define(remove), `status.storedVersions[0]: Invalid value: "v2": missing from spec.versions`)
	for _, name := range []string{"bread", "cake"} {
		_, err := m.Patch(t.Context(), hostV1, types.NamespacedName{Namespace: "default", Name: name}, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	require.NoError(t, m.define(`[{"op":"replace","path":"/status/storedVersions","value":["v1"]}]`, "status"))
	require.NoError(t, m.define(remove))
	require.Zero(t, m.reads(hostV1))
	obj, err := m.Get(t.Context(), hostV1, breads)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"host": "h"}, obj.Object["spec"])
	_, err = m.Get(t.Context(), hostV2, breads)
	require.ErrorContains(t, err, "example.com/v2, Kind=Host is no known kind")
}

// TestManagersOfARemovedVersion checks that an apply is refused where a manager owns fields in a version
// that the definition no longer has, as kube-apiserver refuses it, and that an update removes
// managedFields, so that the next apply succeeds.
func TestManagersOfARemovedVersion(t *testing.T) {
	m := newMigration(t)
	apply := func() error {
		_, err := m.Patch(t.Context(), hostV1, breads, types.ApplyPatchType, []byte(`{"apiVersion":"example.com/v1","kind":"Host","spec":{"host":"h"}}`), metav1.PatchOptions{FieldManager: "new"})
		return err
	}
	_, err := m.Patch(t.Context(), hostV2, breads, types.ApplyPatchType, []byte(`{"apiVersion":"example.com/v2","kind":"Host","spec":{"address":"h"}}`), metav1.PatchOptions{FieldManager: "old"})
	require.NoError(t, err)
	require.NoError(t, apply())
	require.NoError(t, m.define(`[{"op":"replace","path":"/status/storedVersions","value":["v1"]}]`, "status"))
	require.NoError(t, m.define(`[{"op":"remove","path":"/spec/versions/1"}]`))
	require.EqualError(t, apply(), "request to convert CR to an invalid group/version: example.com/v2")
	obj, err := m.Patch(t.Context(), hostV1, breads, types.MergePatchType, []byte(`{"spec":{"host":"g"}}`), metav1.PatchOptions{FieldManager: "other"})
	require.NoError(t, err)
	require.Empty(t, obj.GetManagedFields())
	_, err = m.Patch(t.Context(), hostV1, breads, types.MergePatchType, []byte(`{"spec":{"host":"h"}}`), metav1.PatchOptions{FieldManager: "other"})
	require.NoError(t, err)
	require.NoError(t, apply())
	obj, err = m.Get(t.Context(), hostV1, breads)
	require.NoError(t, err)
	var managers []string
	for _, e := range obj.GetManagedFields() {
		managers = append(managers, e.Manager)
	}
	require.ElementsMatch(t, []string{"new", "before-first-apply"}, managers)
}
