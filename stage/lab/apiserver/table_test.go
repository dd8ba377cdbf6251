package apiserver

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// Each kind that is stored has as many cells as columns, even if an object has no fields.
func TestCellsOfEmptyObjects(t *testing.T) {
	s, err := New(memory.New(memory.Options{}), Options{})
	require.NoError(t, err)
	printed := 0
	for _, g := range s.kinds.list() {
		for _, r := range g.resources {
			if r.virtual {
				continue
			}
			u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "x"}}}
			u.SetGroupVersionKind(r.kind)
			b := tabulator{cells: cells{now: time.Now()}, of: r}
			more := 0
			if r.Resource == "ipaddresses" {
				more = 1 // kube-apiserver 1.36 also sends the age, for which it has no column
			}
			if len(b.of.tableColumns())+more != len(b.rowCells(u)) {
				t.Errorf("%s: columns %d, cells %v", r.columnsKey(), len(b.of.tableColumns()), b.rowCells(u))
			}
			if recordedColumns()[r.columnsKey()] != nil {
				printed++
			}
		}
	}
	require.Greater(t, printed, 30)
}
