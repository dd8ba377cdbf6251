package apiserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// TestColumnsAndWarningsOfADefinition checks that a Table has the columns of the definition, and that
// answers about a deprecated version warn.
func TestColumnsAndWarningsOfADefinition(t *testing.T) {
	config := apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{})
	warnings := &warned{}
	config.WarningHandler = warnings
	client := dynamic.NewForConfigOrDie(config)
	definition := strings.Replace(ovens, "served: true,", `served: true, deprecated: true, deprecationWarning: buy a new one,
    additionalPrinterColumns: [{name: Degrees, type: integer, jsonPath: .spec.degrees}],`, 1)
	_, err := client.Resource(definitionKind).Create(t.Context(), fields(t, definition), metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = client.Resource(ovenKind).Namespace("default").Create(t.Context(), oven(t, "a", `{degrees: 200}`), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"buy a new one"}, warnings.texts)

	text, err := kubernetes.NewForConfigOrDie(config).CoreV1().RESTClient().Get().AbsPath("/apis/x.io/v1/namespaces/default/ovens").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	require.NoError(t, err)
	var table metav1.Table
	require.NoError(t, json.Unmarshal(text, &table))
	require.Equal(t, "Degrees", table.ColumnDefinitions[1].Name)
	require.EqualValues(t, 200, table.Rows[0].Cells[1])
}
