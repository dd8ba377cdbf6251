package cel

import (
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"
	"github.com/stretchr/testify/require"
)

// counted is a list that counts how often someone goes over it.
type counted struct {
	traits.Lister
	times *int
}

func (c counted) Iterator() traits.Iterator {
	*c.times++
	return c.Lister.Iterator()
}

func TestMapsMeasureEachElementOnce(t *testing.T) {
	p, err := testCompiler(t, Options{}).Compile("self.x.map(a, a).size() == 200")
	require.NoError(t, err)
	list, times := make([]any, 200), 0
	for i := range list {
		list[i] = counted{types.NewDynamicList(types.DefaultTypeAdapter, []any{int64(i)}), &times}
	}
	ok, err := p.Bool(variables{"x": list}, new(Frame))
	require.NoError(t, err)
	require.True(t, ok)
	require.LessOrEqual(t, times, 2*len(list))
	require.NotZero(t, times)
}
