package apiserver

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/race"
)

// TestNobodyPaysForTheColumnsOfAnother: the request after a definition with very many columns and a large schema
// does not read them. Before, it made more than 300,000 allocations.
func TestNobodyPaysForTheColumnsOfAnother(t *testing.T) {
	if race.On {
		t.Skip("the race detector allocates")
	}
	s, _ := newServerOf(t, Options{})
	repeated := func(n int, form string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(form, i)
		}
		return strings.Join(all, ",")
	}
	require.Equal(t, http.StatusOK, ask(s, "GET", configMapsPath, "", "").Code)
	definition := ask(s, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json", fmt.Sprintf(
		`{"metadata": {"name": "things.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
		"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {%s}}}, "additionalPrinterColumns": [%s]}]}}`,
		repeated(2000, `"f%d": {"type": "string"}`), repeated(10_000, `{"name": "c%d", "type": "string", "jsonPath": ".spec..a..b..c..d"}`)))
	require.Equal(t, http.StatusCreated, definition.Code, definition.Body)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	answer := ask(s, "GET", configMapsPath, "", "")
	runtime.ReadMemStats(&after)
	require.Equal(t, http.StatusOK, answer.Code)
	t.Logf("%d allocations", after.Mallocs-before.Mallocs)
	require.Less(t, after.Mallocs-before.Mallocs, uint64(2_000))
}
