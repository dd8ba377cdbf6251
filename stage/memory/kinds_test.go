package memory

import (
	"testing"

	"github.com/stagecraft-go/stagecraft/internal/patch"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Strategic merge is offered for every built-in kind, so each must have a schema.
func TestEveryBuiltInKindHasAMergeSchema(t *testing.T) {
	for gv, rows := range builtins {
		for _, row := range rows {
			_, ok := patch.SchemaFor(gv.Group, gv.Version, row.kind)
			require.True(t, ok, "%s %s", gv, row.kind)
		}
	}
}

func TestKindsAreInOrder(t *testing.T) {
	cluster := New(Options{Kinds: []Kind{{GroupVersionKind: schema.GroupVersionKind{Group: "zoo.example.com", Version: "v1", Kind: "Okapi"}}}})
	kinds := cluster.Kinds()
	require.Len(t, kinds, len(cluster.kinds))
	require.Equal(t, "configmaps", kinds[0].Resource)
	require.Equal(t, "okapis", kinds[len(kinds)-1].Resource)
}
