package bench

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// A difference is a row of the table in the documentation of package stage.
type difference struct {
	name    string   // the first column of the row
	aspects []string // in which it shows
	// applies reports whether a case shows the difference, from the case and kwok's result for it.
	// It sees our side only to check that we do what the second column says.
	applies func(situation) bool
	// object and spec (of a Stage for it) surely produce it.
	object, spec string
	lenient      bool
}

// A situation is a disagreement about a Stage of a case.
type situation struct {
	mismatch
	Case
	kwokSays Outcome
	// explained reports whether some difference applies to another disagreement that hides this one.
	explained func(situation) bool
}

// differences are the rows that show in the lifecycle.
var differences = []difference{
	{
		name: "refuses only values of the wrong type when Stages are loaded", aspects: []string{"refused"},
		applies: func(s situation) bool {
			return s.mismatch.kwok == "" && (s.anyStage(badTemplate) || uselessResult.MatchString(s.ours))
		},
		object: pod, spec: `selector: {matchLabels: {a: b}}, next: {statusTemplate: "{{ if }}"}`,
	},
	{
		name: "drops unknown fields silently", aspects: []string{"refused"},
		applies: func(s situation) bool { return s.mismatch.kwok == "" && s.anyUnknownField() },
		object:  pod, spec: `selector: {matchLabel: {a: b}}`,
	},
	{
		name: "leaves apiGroup empty in files", aspects: []string{"stages"},
		applies: func(s situation) bool {
			return s.anyStage(func(st *v1alpha1.Stage) bool { return st.Spec.ResourceRef.APIGroup == "" })
		},
		object: pod, spec: `selector: {}, resourceRef: {kind: Pod}`,
	},
	{
		name: "an error in one Stage's CEL or weight hides all", aspects: []string{"match", "weight", "possible"},
		applies: failedStage,
		object:  pod, spec: `selector: {matchExpressions: [{cel: {expression: "self.spec.nope == 1"}}]}`,
	},
	{
		name: "a number of the object equals no value", aspects: []string{"match"},
		applies: numberAmongValues,
		object:  pod, spec: `selector: {matchExpressions: [{key: .metadata.generation, operator: In, values: ["2"]}]}`,
	},
	{
		name: "panics on a negative sum of weights", aspects: []string{"weight", "possible"},
		applies: negativeWeight,
		object:  pod, spec: `selector: {}, weightFrom: {expressionFrom: '"-3"'}`,
	},
	{
		name: "an integer from jq is no weight", aspects: []string{"weight"},
		applies: integerWeight,
		object:  pod, spec: `selector: {}, weightFrom: {expressionFrom: .spec.containers | length}`,
	},
	{
		name: "ignores jitterDurationFrom.cel", aspects: []string{"delay"},
		applies: func(s situation) bool {
			d := s.of().Spec.Delay
			return d != nil && d.JitterDurationFrom != nil && d.JitterDurationFrom.CEL != nil && d.JitterDurationFrom.JQ == nil
		},
		object: pod, spec: `selector: {}, delay: {jitterDurationFrom: {cel: {expression: "duration('5s')"}}}`,
	},
	{
		name: "a CEL timestamp is no delay", aspects: []string{"delay"},
		applies: func(s situation) bool { return strings.HasSuffix(s.mismatch.kwok, "unsupported type: types.Timestamp") },
		object:  pod, spec: `selector: {}, delay: {durationFrom: {cel: {expression: "timestamp(self.metadata.creationTimestamp)"}}}`,
	},
	{
		name: "plays at once when the delay cannot be read", aspects: []string{"delay"},
		applies: unreadableDelay,
		object:  pod, spec: `selector: {}, delay: {durationMilliseconds: 3000, durationFrom: {cel: {expression: "self.spec.nope"}}}`,
	},
	{
		name: "patches, then deletes, if a Stage has both", aspects: []string{"effects"},
		applies: func(s situation) bool {
			spec := s.of().Spec
			n := spec.Next
			return len(spec.Steps) == 0 && n != nil && n.Delete && (n.StatusTemplate != "" || len(n.Patches) > 0)
		},
		object: pod, spec: `selector: {}, next: {delete: true, statusTemplate: "phase: x"}`,
	},
	{
		name: "finalizer steps see the original list", aspects: []string{"effects"},
		applies: func(s situation) bool { return s.onlyJSONPatchesDiffer() && len(s.finalizers()) > 1 },
		object:  pod, spec: `selector: {}, steps: [{finalizers: {remove: [{value: a}]}}, {finalizers: {remove: [{value: b}]}}]`,
	},
	{
		name: "adds a finalizer twice", aspects: []string{"effects"},
		applies: func(s situation) bool {
			return s.onlyJSONPatchesDiffer() && slices.ContainsFunc(s.finalizers(), addsTwice)
		},
		object: pod, spec: `selector: {}, steps: [{finalizers: {add: [{value: d}, {value: d}]}}]`,
	},
	{
		name: "does not prefix from of a JSON patch", aspects: []string{"effects"},
		applies: func(s situation) bool { return s.anyPatch(movesBelowRoot) },
		object:  pod, spec: `selector: {}, steps: [{patch: {type: json, root: status, template: "[{op: move, from: /a, path: /b}]"}}]`,
	},
	{
		name: "an empty template sends null", aspects: []string{"effects"},
		applies: func(s situation) bool { return s.anyTemplate(s.rendersNothing) },
		object:  pod, spec: `selector: {}, next: {statusTemplate: "{{ if .nope }}x: y{{ end }}"}`,
	},
	{
		name: "numbers are strings in templates", aspects: []string{"effects"},
		applies: func(s situation) bool { return s.anyTemplate(s.readsNumbers) },
		object:  pod, spec: `selector: {}, next: {statusTemplate: "two: {{ eq .metadata.generation 2 }}"}`,
	},
	{
		name: "templates read the process environment", aspects: []string{"refused"},
		applies: func(s situation) bool { return s.mismatch.kwok == "" && s.anyTemplate(readsEnvironment) },
		object:  pod, spec: `selector: {}, next: {statusTemplate: "home: {{ env \"HOME\" }}"}`,
	},
	{
		name: "loses a finalizer that a step removes and adds", aspects: []string{"effects"},
		applies: func(s situation) bool {
			return s.onlyJSONPatchesDiffer() && slices.ContainsFunc(s.finalizers(), s.removesAndAdds)
		},
		object: pod, spec: `selector: {}, steps: [{finalizers: {add: [{value: a}], remove: [{value: a}]}}]`,
	},
	{
		name: "env and $ENV in jq are empty", aspects: []string{"refused"},
		applies: func(s situation) bool { return s.mismatch.kwok == "" && strings.Contains(s.ours, " is not allowed: ") },
		object:  pod, spec: `selector: {matchExpressions: [{key: env | length, operator: Exists}]}`,
	},
	{
		name: "a CEL duration is a weight", aspects: []string{"refused", "weight"},
		applies: func(s situation) bool {
			return s.mismatch.kwok == "" && strings.Contains(s.ours, "weightFrom.cel.expression: the result is google.protobuf.Duration") ||
				s.aspect == "weight" && isNumber(s.mismatch.kwok) && s.ours == "none" && s.of().Spec.WeightFrom.CEL != nil
		},
		object: pod, spec: `selector: {}, weightFrom: {cel: {expression: "duration('5ns')"}}`,
	},
	{
		name: "CEL text is a duration, never a time or nothing", aspects: []string{"delay"},
		applies: func(s situation) bool { return strings.HasPrefix(s.mismatch.kwok, "time: ") },
		object:  pod, spec: `selector: {}, delay: {durationFrom: {cel: {expression: "'2024-05-06T07:09:09Z'"}}}`,
	},
	{
		name: "a path may be missing in a JSON patch", aspects: []string{"effects"},
		applies: func(s situation) bool {
			return s.anyPatch(func(p v1alpha1.StagePatch) bool { return p.Root != "" && !strings.Contains(p.Template, "path") }) && s.ours == "fails"
		},
		object: pod, spec: `selector: {}, steps: [{patch: {type: json, root: status, template: "[{op: add, value: 1}]"}}]`,
	},
	{
		name: "a patch may be of the wrong shape", aspects: []string{"effects"},
		applies: func(s situation) bool {
			return s.ours == "fails" && s.anyPatch(func(p v1alpha1.StagePatch) bool { return p.Root == "" })
		},
		object: pod, spec: `selector: {}, steps: [{patch: {type: merge, template: "[1]"}}]`,
	},
	{
		name: "a weight may be more than 2^40", aspects: []string{"weight"},
		applies: func(s situation) bool {
			return len(s.mismatch.kwok) > len("1099511627776") && s.ours == "1099511627776"
		},
		object: pod, spec: `selector: {}, weightFrom: {expressionFrom: '"9223372036854775807"'}`,
	},
	{
		name: "jq sees integers beyond 2^53 as floats", aspects: []string{"match", "weight", "delay"},
		applies: func(s situation) bool { return slices.ContainsFunc(s.sources(), s.needsPrecision) },
		object:  `{apiVersion: v1, kind: Pod, metadata: {generation: 9007199254740993}}`,
		spec:    `selector: {matchExpressions: [{key: .metadata.generation | tostring, operator: In, values: ["9007199254740993"]}]}`,
	},
	{
		name: "comparing Quantities gives an int in CEL", aspects: []string{"refused"},
		applies: func(s situation) bool {
			return s.ours == "" && strings.Contains(string(s.Text()), "Quantity(") && strings.Contains(s.mismatch.kwok, "int")
		},
		object: pod, spec: `selector: {matchExpressions: [{cel: {expression: "!(Quantity('1') < Quantity('2'))"}}]}`,
	},
}

// elsewhere are the rows that do not show in the lifecycle, and where they do.
var elsewhere = map[string]string{
	"CEL sees Pods and Nodes as Go types":               "TestKwokSeesPodsAsGoTypes",
	"redraws Stage and delay at every update":           "TestKwokRedraws",
	"plays a Stage that no longer matches":              "controller",
	"impersonation in apply is ignored for Pods, Nodes": "controller",
	"Delete of a missing object fails":                  "controller",
	"deletes a Pod again that is about to go":           "controller",
	"drops an effect on conflict":                       "controller",
	"a loop of Stages without delay never ends":         "controller",
}

const pod = `{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: ns, generation: 2, finalizers: [a, b],
  creationTimestamp: "2024-05-06T07:00:00Z"}, spec: {containers: [{name: main}]}}`

func TestEveryDifferenceIsProduced(t *testing.T) {
	for _, d := range differences {
		t.Run(d.name, func(t *testing.T) {
			c := caseFrom(t, d)
			kwok, ours := sides(c)
			found := compare(kwok, ours)
			require.NotEmpty(t, found, "the sides agree: %+v", kwok)
			for _, m := range found {
				if slices.Contains(d.aspects, m.aspect) && d.applies(newSituation(m, c, kwok)) {
					return
				}
			}
			require.Fail(t, "not recognised", "%v", found)
		})
	}
}

func TestDifferencesAreThoseOfTheDocumentation(t *testing.T) {
	var names []string
	for _, d := range differences {
		names = append(names, d.name)
	}
	for name := range elsewhere {
		names = append(names, name)
	}
	require.ElementsMatch(t, documented(t), names)
}

// documented are the first columns of the table of COMPATIBILITY.md.
func documented(t *testing.T) []string {
	text, err := os.ReadFile("../../../COMPATIBILITY.md")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(text), "|---|---|---|\n")
	require.True(t, ok)
	var names []string
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, " | "); len(cells) == 3 {
			names = append(names, strings.TrimPrefix(cells[0], "| "))
		}
	}
	return names
}

func caseFrom(t *testing.T, d difference) Case {
	spec := values(t, "{"+d.spec+"}")
	if spec["resourceRef"] == nil {
		spec["resourceRef"] = map[string]any{"apiGroup": "v1", "kind": "Pod"}
	}
	st := values(t, `{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: st}}`)
	st["spec"] = spec
	return Case{Stages: []map[string]any{st}, Object: values(t, d.object), Lenient: d.lenient}
}

func convert(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}
