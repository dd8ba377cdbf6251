package player_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage"
)

// start is the time at which all tests begin.
var start = time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)

// object reads an object from YAML.
func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	require.NoError(t, obj.UnmarshalJSON(raw))
	return obj
}

// stageYAML is a Stage for Pods; body is its spec below resourceRef, indented by two.
func stageYAML(name, body string) string {
	head := `apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: %s}
spec:
  resourceRef: {kind: Pod}
%s
---
`
	return fmt.Sprintf(head, name, strings.TrimPrefix(body, "\n"))
}

func compile(t testing.TB, text ...string) *stage.Set {
	t.Helper()
	set, err := stage.Compile(stage.Options{}, stage.Parse("stages.yaml", []byte(strings.Join(text, ""))))
	require.NoError(t, err)
	return set
}

// phased is a Stage that applies in a phase.
func phased(name, phase, rest string) string {
	return stageYAML(name, "  selector: {matchExpressions: [{key: .status.phase, operator: In, values: ["+phase+"]}]}\n"+rest)
}
