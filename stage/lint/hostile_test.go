package lint_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/race"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lint"
)

// many is a text n times, with the number in place of #.
func many(n int, text string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(text, "#", strconv.Itoa(i)))
	}
	return b.String()
}

// hostileStages are specs of one Stage for Pods that were made to keep lint busy.
var hostileStages = map[string]string{
	"a template that reads many fields": "  next:\n    statusTemplate: |\n" + many(1000, "      a#: {{ index .metadata.annotations \"k#\" }}\n"),
	"an apply that reads many fields": "  steps:\n  - apply:\n      template: |\n        apiVersion: v1\n        kind: ConfigMap\n" +
		"        metadata: {name: a}\n        data:\n" + many(1000, "          a#: {{ index $.metadata.annotations \"k#\" }}\n"),
	"many steps":            "  steps:\n" + many(400, "  - patch: {root: status, subresource: status, template: 'a#: {{ .metadata.annotations.a# }}'}\n"),
	"many values":           "  selector: {matchExpressions: [{key: .status.phase, operator: In, values: [" + many(20_000, "v#, ") + "x]}]}\n",
	"many labels":           "  selector: {matchLabels: {" + many(4000, "l#: v, ") + "}}\n",
	"many requirements":     "  selector:\n    matchExpressions:\n" + many(1000, "    - {key: .status.f#, operator: In, values: [a, b, c]}\n"),
	"many failures":         "  selector:\n    matchExpressions:\n" + many(1000, "    - {key: '[range(100)] | \"x#\" | tonumber', operator: Exists}\n"),
	"loops in loops":        "  next: {statusTemplate: 'a: {{ range until 9999 }}{{ range until 9999 }}{{ end }}{{ end }}'}",
	"a large output":        "  next: {statusTemplate: 'a: {{ repeat 1000000 \"x\" }}'}",
	"a status that doubles": "  next: {statusTemplate: 'text: {{ printf \"%s%s\" (or .status.text \"x\") (or .status.text \"x\") }}'}",
	"deep values":           "  next: {statusTemplate: '" + strings.Repeat("{a: ", 500) + "1" + strings.Repeat("}", 500) + "'}",
	"a long expression":     "  selector: {matchExpressions: [{jq: {key: '" + strings.Repeat(".a|", 2000) + ".', operator: Exists}}]}\n",
	"endless jq":            "  selector: {matchExpressions: [{jq: {key: '[range(1000000000)]', operator: Exists}}]}\n",
	"endless CEL":           "  selector: {matchExpressions: [{cel: {expression: '" + strings.Repeat("[1,2,3,4,5,6,7,8,9].all(a, ", 9) + "true" + strings.Repeat(")", 9) + "'}}]}\n",
}

// TestHostileStages checks Stages of up to 200 KB on which a rule would work for minutes, or say
// thousands of sentences.
func TestHostileStages(t *testing.T) {
	if race.On {
		t.Skip("it is about work and memory, and takes many times as long with the race detector")
	}
	for name, body := range hostileStages {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(body, "  selector:") {
				body += "\n  selector: {}"
			}
			if strings.HasPrefix(body, "  selector:") {
				body += "  next: {statusTemplate: 'phase: Running'}"
			}
			source := stage.Parse("s.yaml", fmt.Appendf(nil, "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {name: a}\nspec:\n  resourceRef: {kind: Pod}\n%s\n", body))
			require.Empty(t, source.Errors())
			var found []lint.Finding
			require.Less(t, allocationsOf(func() { found = lint.Check(source) }), 5e6)
			require.LessOrEqual(t, len(found), 2*100, "the first hundred of each rule")
		})
	}
}
