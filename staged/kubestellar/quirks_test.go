package kubestellar_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
)

// cellsOf are the cells of the one row that a select makes of one destination.
func cellsOf(t *testing.T, mode kubestellar.Mode, columns ...control.NamedExpression) []control.Value {
	c, err := kubestellar.Compile(control.StatusCollectorSpec{Select: columns})
	require.NoError(t, err)
	b := &control.Binding{}
	b.Name, b.UID = "b", "u"
	b.Spec.Destinations = []control.Destination{{ClusterID: "c1"}}
	b.Spec.Workload.NamespaceScope = []control.DownsyncClause{{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "n", Name: "w",
		DownsyncModulation: control.DownsyncModulation{StatusCollectors: []string{"s"}}}}
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "w", "namespace": "n"}}}
	status, ok := kubestellar.Combine(mode, kubestellar.Input{Binding: b, Object: obj, Resource: "deployments", Collectors: map[string]*kubestellar.Collector{"s": c}})
	require.True(t, ok)
	require.Len(t, status.Results[0].Rows, 1)
	return status.Results[0].Rows[0].Columns
}

func TestTheLaterOfTwoColumnsOfOneNameDefinesBoth(t *testing.T) {
	columns := []control.NamedExpression{{Name: "a", Def: "'first'"}, {Name: "a", Def: "'second'"}}
	cells := cellsOf(t, kubestellar.Upstream, columns...)
	require.Equal(t, []string{"second", "second"}, []string{*cells[0].String, *cells[1].String})
	cells = cellsOf(t, kubestellar.Strict, columns...)
	require.Equal(t, []string{"first", "second"}, []string{*cells[0].String, *cells[1].String})
}

func TestATypeIsAString(t *testing.T) {
	for def, want := range map[string]string{"type(1)": "int", "type('')": "string", "type([])": "list"} {
		for _, mode := range []kubestellar.Mode{kubestellar.Upstream, kubestellar.Strict} {
			cell := cellsOf(t, mode, control.NamedExpression{Name: "a", Def: def})[0]
			require.Equal(t, "String", cell.Type, def)
			require.Equal(t, want, *cell.String)
		}
	}
}

func TestASumNeedsASubject(t *testing.T) {
	_, err := kubestellar.Compile(control.StatusCollectorSpec{CombinedFields: []control.NamedAggregator{{Name: "a", Type: "SUM"}}})
	require.ErrorContains(t, err, "subject must be set")
}
