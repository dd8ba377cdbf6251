package memory

import (
	"testing"

	"github.com/stagecraft-go/stagecraft/internal/patch"
	"github.com/stretchr/testify/require"
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
