package memory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// aliased returns a document with n aliases of a text.
func aliased(length, n int) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: &a %q}\nx:\n%s", strings.Repeat("y", length), strings.Repeat("- *a\n", n))
}

// TestAliasesAreBounded checks Load and an apply: each error names its line.
func TestAliasesAreBounded(t *testing.T) {
	bomb := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx:\n  a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		bomb += fmt.Sprintf("  a%d: &a%d [%s]\n", i+1, i+1, strings.Trim(strings.Repeat(fmt.Sprintf("*a%d,", i), 9), ","))
	}
	first := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: first}\n---\n"
	for text, want := range map[string]string{
		bomb:                 "line 11: aliases make the document longer by more than 3 MiB",
		aliased(1000, 9_000): "line 3193: aliases make the document longer by more than 3 MiB",
		aliased(0, 10_001):   "line 10006: the document has more than 10000 aliases",
		aliased(1<<20, 4):    "line 9: aliases make the document longer by more than 3 MiB",
	} {
		c := memory.New(memory.Options{})
		require.ErrorContains(t, c.Load(t.Context(), []byte(first+text)), "document 2, which begins at line 5: "+want)
		require.Empty(t, namesOfAll(c))
		_, err := c.Patch(t.Context(), configMap, at("a"), types.ApplyPatchType, []byte(text), metav1.PatchOptions{FieldManager: "x"})
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, memory.New(memory.Options{}).Load(t.Context(), []byte(aliased(300, 9_000))))
	require.NoError(t, memory.CheckAliases([]byte(`{"a": "* & *", "cron": "*/5 * * * *"}`)))
}

func namesOfAll(c *memory.Cluster) (names []string) {
	for obj := range c.All() {
		names = append(names, obj.GetName())
	}
	return names
}

// TestVeryManyFieldsHaveNoOwners checks that field management, whose work is the square of the
// members, is refused for very many.
func TestVeryManyFieldsHaveNoOwners(t *testing.T) {
	c := memory.New(memory.Options{})
	c.TrackFields()
	many := map[string]any{}
	for i := range 30_001 {
		many[fmt.Sprint("k", i)] = ""
	}
	_, err := c.Create(t.Context(), newConfigMap(many), metav1.CreateOptions{})
	require.ErrorContains(t, err, `the field "data" has 30001 members: managed fields can have 30000 in a map or list`)
	delete(many, "k0")
	_, err = c.Create(t.Context(), newConfigMap(many), metav1.CreateOptions{})
	require.NoError(t, err)
}
