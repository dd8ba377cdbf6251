package celrule_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/celrule"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func Example() {
	rules, err := celrule.Parse("health.yaml", []byte(`
rules:
- group: bakery.example.com
  kind: Cake
  inProgress: status.stage in ["mixing", "baking"]
  failed: status.stage == "burnt"
  current: status.stage == "iced"
  message: '"The cake is " + status.stage'
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	profile := kstatus.Extended().With(rules)
	for _, stage := range []string{"baking", "iced", "burnt"} {
		cake := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "bakery.example.com/v1", "kind": "Cake", "status": map[string]any{"stage": stage},
		}}
		fmt.Println(profile.Compute(cake, time.Now()))
	}
	// Output:
	// InProgress InProgress: The cake is baking
	// Current: The cake is iced
	// Failed Failed: The cake is burnt
}

func ExampleParse_faults() {
	_, err := celrule.Parse("health.yaml", []byte(`rules:
- group: bakery.example.com
  kind: Cake
  failed: stats.stage == "burnt"
  current: status.stage
  mesage: oops
`))
	fmt.Println(err)
	// Output:
	// health.yaml:6:3: rules[0].mesage: unknown field; did you mean "message"?
	// health.yaml:4:11: rules[0].failed: undeclared reference to 'stats'
}

func object(t testing.TB, manifest string) *unstructured.Unstructured {
	t.Helper()
	obj := map[string]any{}
	require.NoError(t, yaml.Unmarshal([]byte(manifest), &obj))
	return &unstructured.Unstructured{Object: obj}
}

func TestExpressionsDecideInOrder(t *testing.T) {
	widget := celrule.Spec{
		Group: "example.com", Kind: "Widget", InProgress: `has(status.busy) && status.busy`, Failed: `status.phase == "Bad" || self.status.phase == "Slow"`,
		Current: `status.phase != "" && Now() > timestamp("2026-01-01T00:00:00Z")`,
	}
	cases := map[string]struct {
		manifest string
		want     kstatus.Status
		reason   string
	}{
		"inProgress comes first":               {`{status: {busy: true, phase: Bad}}`, kstatus.InProgress, "InProgress"},
		"failed comes before current":          {`{status: {phase: Bad}}`, kstatus.Failed, "Failed"},
		"current comes last":                   {`{status: {phase: Good}}`, kstatus.Current, ""},
		"nothing true is in progress":          {`{status: {phase: ""}}`, kstatus.InProgress, "CurrentNotTrue"},
		"an expression that fails is not true": {`{status: {busy: "x", phase: Good}}`, kstatus.Current, ""},
		"a missing status is in progress":      {`{}`, kstatus.InProgress, "NoStatus"},
		"a missing field is in progress":       {`{status: {}}`, kstatus.InProgress, "ExpressionFailed"},
		"an unseen generation comes before all": {`{metadata: {generation: 2}, status: {observedGeneration: 1,
  phase: Good}}`, kstatus.InProgress, "LatestGenerationNotObserved"},
		"a field called self does not hide objects": {`{self: {}, status: {phase: Good}}`, kstatus.Current, ""},
		"self is the object all the same":           {`{self: {status: {phase: Bad}}, status: {phase: Slow}}`, kstatus.Failed, "Failed"},
		"what Now() stands for cannot be hidden":    {`{"@now": x, status: {phase: Good}}`, kstatus.Current, ""},
	}
	rules, err := celrule.Compile(widget)
	require.NoError(t, err)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			obj := object(t, c.manifest)
			obj.SetAPIVersion("example.com/v1")
			obj.SetKind("Widget")
			r := kstatus.Standard().With(rules).Compute(obj, now)
			require.Equal(t, c.want, r.Status, r.String())
			require.Equal(t, c.reason, r.Reason)
		})
	}
}

func TestGroupsAndKindsMayBeWild(t *testing.T) {
	rules, err := celrule.Compile(
		celrule.Spec{Group: "*.example.com", Kind: "*", Current: `true`, Message: `"wild"`},
		celrule.Spec{Group: "a.example.com", Kind: "Widget", Current: `true`, Message: `"exact"`},
	)
	require.NoError(t, err)
	profile := kstatus.Standard().With(rules)
	require.Equal(t, "wild", profile.Compute(object(t, `{apiVersion: b.example.com/v1, kind: Widget}`), now).Message())
	require.Equal(t, "exact", profile.Compute(object(t, `{apiVersion: a.example.com/v1, kind: Widget}`), now).Message())
}

func TestTimeIsThatOfTheResult(t *testing.T) {
	rules, err := celrule.Compile(celrule.Spec{Kind: "Egg", Current: `Now() - timestamp(metadata.creationTimestamp) > duration("3m")`})
	require.NoError(t, err)
	egg := object(t, `{apiVersion: v1, kind: Egg, metadata: {creationTimestamp: "2026-01-02T03:03:05Z"}}`)
	profile := kstatus.Standard().With(rules)
	require.Equal(t, kstatus.InProgress, profile.Compute(egg, now).Status)
	require.Equal(t, kstatus.Current, profile.Compute(egg, now.Add(3*time.Minute)).Status)
}

func TestFaultsAreAllReported(t *testing.T) {
	cases := map[string]struct{ text, want string }{
		"a missing kind":           {"rules: [{current: 'true'}]", "rules[0].kind: is required"},
		"a missing current":        {"rules: [{kind: A}]", "rules[0].current: is required"},
		"a second rule for a kind": {"rules: [{kind: A, current: 'true'}, {kind: A, current: 'true'}]", "rules[1]: there are rules for A already"},
		"one in another document":  {"rules: [{kind: A, current: 'true'}]\n---\nrules: [{kind: A, current: 'true'}]", "x.yaml:3:"},
		"a result that is no bool": {"rules: [{kind: A, current: '1'}]", "the result is int, not bool"},
		"no message":               {"rules: [{kind: A, current: 'true', message: '1'}]", "the result is int, not string"},
		"a syntax error":           {"rules: [{kind: A, current: '1 +'}]", "x.yaml:1:"},
		"no YAML":                  {"{", "not YAML"},
		"a list for an expression": {"rules: [{kind: A, current: [a]}]", "rules[0].current: want a string, got a list; quote it"},
		"a text for a rule":        {"rules: [text]", "rules[0]: want an object"},
		"an empty file":            {"", "x.yaml:1: there are no rules"},
		"a file of a comment":      {"# later", "x.yaml:1: there are no rules"},
		"an empty list":            {"rules: []", "x.yaml:1: there are no rules"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			rules, err := celrule.Parse("x.yaml", []byte(c.text))
			require.ErrorContains(t, err, c.want)
			require.Nil(t, rules)
			var fault *celrule.Error
			require.True(t, errors.As(err, &fault))
			require.NotZero(t, fault.Position.Line, err.Error())
			require.Equal(t, strings.HasSuffix(name, " current"), strings.Contains(err.Error(), "is required: no object"), err.Error())
		})
	}
}

// Kinds that have rules twice are named in the order of their names, each time the same.
func TestFaultsOfKindsHaveAnOrder(t *testing.T) {
	var rules strings.Builder
	for _, kind := range []string{"D", "A", "C", "B"} {
		fmt.Fprintf(&rules, "- {group: example.com, kind: %s, current: 'true'}\n", kind)
	}
	text := "rules:\n" + rules.String()
	for range 50 {
		_, err := celrule.Parse("twice.yaml", []byte(text+"---\n"+text))
		require.Error(t, err)
		var kinds []string
		for _, m := range regexp.MustCompile(`rules for (\w)`).FindAllStringSubmatch(err.Error(), -1) {
			kinds = append(kinds, m[1])
		}
		require.Equal(t, []string{"A", "B", "C", "D"}, kinds, err)
	}
}

func TestNamesThatMatchNothingAreFaults(t *testing.T) {
	cases := map[string]struct{ group, kind, want string }{
		"a group with a version":      {"apps/v1", "A", `x.yaml:2:10: rules[0].group: "apps/v1" is a group with a version; write "apps"`},
		"a version for a group":       {"v1", "A", `x.yaml:2:10: rules[0].group: no group is called "v1"; that of core objects is empty`},
		"a name for core":             {"core", "A", "that of core objects is empty"},
		"a wildcard inside":           {"a.*.com", "A", "* stands for all groups, *.example.com for all below example.com"},
		"a wildcard without a dot":    {"*example.com", "A", "* stands for all groups"},
		"a wildcard twice":            {"*.*.com", "A", "* stands for all groups"},
		"a wildcard of nothing":       {"*.", "A", "is no name of a group"},
		"a group with a space":        {"my group", "A", `"my group" is no name of a group`},
		"a group in capitals":         {"Example.com", "A", "is no name of a group"},
		"a group with an empty part":  {"a..com", "A", "is no name of a group"},
		"a kind that begins":          {"", "W*", `x.yaml:3:9: rules[0].kind: "W*" matches nothing; only * by itself stands for all kinds`},
		"a kind of two words":         {"", "A B", `x.yaml:3:9: rules[0].kind: "A B" is no name of a kind`},
		"a kind with a group":         {"", "Deployment.apps", "is no name of a kind"},
		"a kind that is a path":       {"", "apps/Deployment", "is no name of a kind"},
		"the name of a resource":      {"example.com", "widgets", `x.yaml:3:9: rules[0].kind: "widgets" looks like the name of a resource; write its kind`},
		"the name of a resource, one": {"apps", "deployment", "looks like the name of a resource"},
		"both wrong, both are told":   {"a b", "", "rules[0].group: \"a b\" is no name of a group, such as apps or example.com, or *.example.com\nx.yaml:3:9: rules[0].kind: is required"},
		"any group":                   {"*", "A", ""},
		"all below":                   {"*.example.com", "*", ""},
		"a built-in group":            {"apps", "Deployment", ""},
		"a group with hyphens":        {"kustomize.toolkit.flux-cd.io", "A", ""},
		"a kind in small letters":     {"acid.zalan.do", "postgresql", ""},
		"a kind with digits":          {"serving.knative.dev", "Sequence2", ""},
		"a group that begins with v":  {"v2.edp.epam.com", "A", ""},
		"core, said by an empty text": {"", "Pod", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			rules, err := celrule.Parse("x.yaml", fmt.Appendf(nil, "rules:\n- group: %q\n  kind: %q\n  current: 'true'\n", c.group, c.kind))
			if c.want == "" {
				require.NoError(t, err)
				require.Len(t, rules, 1)
				return
			}
			require.ErrorContains(t, err, c.want)
			require.Nil(t, rules)
			_, err = celrule.Compile(celrule.Spec{Group: c.group, Kind: c.kind, Current: "true"})
			require.Error(t, err)
		})
	}
}

// TestFaultsSayWhatToWrite for what other languages, and CEL elsewhere in Kubernetes, have.
func TestFaultsSayWhatToWrite(t *testing.T) {
	for expression, want := range map[string]string{
		`has(status)`:                          "invalid argument to has() macro; write self.status",
		`status.a > 1 && has(spec)`:            "x.yaml:3:32: rules[0].current: invalid argument to has() macro; write self.spec",
		`object.status.ready`:                  "undeclared reference to 'object'; write self, which is the object",
		`now > timestamp(status.at)`:           "undeclared reference to 'now'; write Now()",
		`status.ready == True`:                 "x.yaml:3:28: rules[0].current: undeclared reference to 'True'; write true",
		`phase == "Ready"`:                     "undeclared reference to 'phase'; write status.phase",
		`status.a and status.b`:                "x.yaml:3:21: rules[0].current: Syntax error: mismatched input 'and' expecting <EOF>; write &&",
		`conditions.exists(c, c.type == "Up")`: "undeclared reference to 'conditions'; write status.conditions",
	} {
		_, err := celrule.Parse("x.yaml", []byte("rules:\n- kind: A\n  current: "+expression+"\n"))
		require.ErrorContains(t, err, want)
	}
}

func TestWorkIsLimited(t *testing.T) {
	list := "[" + strings.Repeat("0,", 200) + "0]"
	rules, err := celrule.Compile(celrule.Spec{Kind: "A", Current: list + `.all(a, ` + list + `.all(b, ` + list + `.all(c, true)))`})
	require.NoError(t, err)
	r := kstatus.Standard().With(rules).Compute(object(t, `{apiVersion: v1, kind: A}`), now)
	require.Equal(t, "ExpressionFailed", r.Reason, r.String())
}

func FuzzParseNeverPanics(f *testing.F) {
	f.Add("rules: [{kind: A, current: 'status.a'}]", `{status: {a: true}}`)
	f.Add("rules: [{kind: A, group: '*', inProgress: 'self', current: 'true', message: 'self.b'}]", `{b: [1]}`)
	f.Fuzz(func(t *testing.T, text, manifest string) {
		rules, err := celrule.Parse("fuzz.yaml", []byte(text))
		if err != nil {
			require.Nil(t, rules)
			return
		}
		var obj map[string]any
		if yaml.Unmarshal([]byte(manifest), &obj) != nil || obj == nil {
			return
		}
		obj["kind"] = "A"
		profile := kstatus.Standard().With(rules)
		u := &unstructured.Unstructured{Object: obj}
		require.Equal(t, profile.Compute(u, now), profile.Compute(u, now))
	})
}
