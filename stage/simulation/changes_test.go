package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
)

// TestChangesKeepTheNewestStateInOrder compares short and long lists with the plain meaning.
func TestChangesKeepTheNewestStateInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var c changes
	for range 200 {
		var order []stage.Key
		newest := map[stage.Key]*unstructured.Unstructured{}
		for range r.IntN(4 * fewChanges) {
			key := stage.Key{Kind: "Pod", Name: fmt.Sprint(r.IntN(3 * fewChanges))}
			if at := slices.Index(order, key); r.IntN(4) == 0 {
				c.remove(key)
				if delete(newest, key); at >= 0 {
					order[at] = stage.Key{}
				}
				continue
			} else if at < 0 {
				order = append(order, key)
			}
			newest[key] = &unstructured.Unstructured{}
			c.put(key, newest[key])
		}
		require.Len(t, c.list, len(order))
		for i, known := range c.list {
			if order[i] == (stage.Key{}) {
				require.True(t, known.gone)
				continue
			}
			require.False(t, known.gone)
			require.Equal(t, order[i], known.key)
			require.Same(t, newest[known.key], known.obj)
		}
		c.clear()
		require.Empty(t, c.list)
	}
}
