package roles_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/roles"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

var clusterRole = schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}

func create(t *testing.T, c *memory.Cluster, name string, labels map[string]string, fields map[string]any) {
	u := &unstructured.Unstructured{Object: fields}
	u.SetGroupVersionKind(clusterRole)
	u.SetName(name)
	u.SetLabels(labels)
	_, err := c.Create(t.Context(), u, metav1.CreateOptions{})
	require.NoError(t, err)
}

func selects(value string) map[string]any {
	return map[string]any{"aggregationRule": map[string]any{"clusterRoleSelectors": []any{map[string]any{"matchLabels": map[string]any{"to": value}}}}}
}

func rulesOf(t *testing.T, c *memory.Cluster, name string) []any {
	u, err := c.Get(t.Context(), clusterRole, types.NamespacedName{Name: name})
	require.NoError(t, err)
	rules, _, _ := unstructured.NestedSlice(u.Object, "rules")
	return rules
}

// TestAggregation checks that a role has the rules of the roles that it selects, through another one too, and each
// rule once; by the controller, and at once.
func TestAggregation(t *testing.T) {
	get := map[string]any{"verbs": []any{"get"}, "apiGroups": []any{"x.io"}, "resources": []any{"things"}}
	list := map[string]any{"verbs": []any{"list"}, "apiGroups": []any{"x.io"}, "resources": []any{"things"}}
	for name, settle := range map[string]func(*testing.T, *simulation.Simulation){
		"controller": func(t *testing.T, s *simulation.Simulation) { require.NoError(t, s.Advance(t.Context(), 1)) },
		"at once": func(t *testing.T, s *simulation.Simulation) {
			require.NoError(t, roles.Aggregate(t.Context(), s.Cluster()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := simulation.Options{}
			if name == "controller" {
				o.Controllers = []reconcile.Controller{roles.Aggregation()}
			}
			set, err := stage.Compile(stage.Options{})
			require.NoError(t, err)
			s, err := simulation.New(set, o)
			require.NoError(t, err)
			c := s.Cluster()
			create(t, c, "admin", nil, selects("admin"))
			create(t, c, "view", map[string]string{"to": "admin"}, selects("view"))
			create(t, c, "a", map[string]string{"to": "view"}, map[string]any{"rules": []any{get}})
			create(t, c, "b", map[string]string{"to": "view"}, map[string]any{"rules": []any{get, list}})
			settle(t, s)
			require.Equal(t, []any{get, list}, rulesOf(t, c, "view"))
			require.Equal(t, []any{get, list}, rulesOf(t, c, "admin"))
			require.NoError(t, c.Delete(t.Context(), clusterRole, types.NamespacedName{Name: "b"}, metav1.DeleteOptions{}))
			settle(t, s)
			require.Equal(t, []any{get}, rulesOf(t, c, "admin"))
		})
	}
}

// A late cluster deletes a role before each patch arrives.
type late struct {
	*memory.Cluster
	t *testing.T
}

func (l late) Patch(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, as types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	require.NoError(l.t, l.Delete(ctx, kind, name, metav1.DeleteOptions{}))
	return l.Cluster.Patch(ctx, kind, name, as, data, o, subresources...)
}

// TestARoleThatHasGoneIsNotMadeAgain deletes a role between the look at it and the write of its rules.
func TestARoleThatHasGoneIsNotMadeAgain(t *testing.T) {
	c := memory.New(memory.Options{})
	create(t, c, "view", nil, selects("view"))
	create(t, c, "a", map[string]string{"to": "view"}, map[string]any{"rules": []any{map[string]any{"verbs": []any{"get"}, "apiGroups": []any{""}, "resources": []any{"pods"}}}})
	require.NoError(t, roles.Aggregate(t.Context(), late{c, t}))
	_, err := c.Get(t.Context(), clusterRole, types.NamespacedName{Name: "view"})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
}
