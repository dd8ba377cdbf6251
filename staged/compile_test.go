package staged_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// faulty is a policy with faults; each wanted message stands behind ### on its line.
const faulty = `apiVersion: community.kubestellar.io/v1alpha1
kind: StagedBindingPolicy
metadata: {name: shop}
spec:
  retention: Kept ### want Move or Keep
  downsync:
  - statusCollectors: [ready]
    objectSelectors: [{matchExpressions: [{key: app, operator: Gt}]}] ### not a valid label selector operator
  - {statusCollectors: [ready]} ### chooses all there is
  deletionPolicy: Stay ### want Orphan or Delete
  adopt:
  - {bindingPolicy: shop.stage.dev, stage: a.stage.b} ### that is not one of this policy
  - {bindingPolicy: other, stage: gone} ### no stage has the name "gone"
  - bindingPolicy: other ### other is adopted twice
    stage: dev
  stages:
  - name: dev
    clusterSelectors: [{}]
    filter: downsyncClaus.name == 'x' ### undeclared reference to 'downsyncClaus'
    condition: num('sum') > 1 && ob.results.size() > 0 ### undeclared reference to 'ob'
    soak: -1m ### must not be negative
  - name: dev ### stage 0 has this name too
    clusterSelectors: [{}]
    condition: size(obj.results) ### the result is int, not bool
    conditions: x ### unknown field; did you mean "condition"?
    maxSilent: 101% ### at most 100%
    maxConcurrency: 0 ### at least 1
  - name: a.stage.b ### must not contain
    clusterSelectors: [{}]
    condition: cell('redy', 'n') == 1 ### collector "redy" is in no statusCollectors of spec.downsync; did you mean "ready"?
    failureCondition: obj.results.exists(r, r.name == 'gone') ### collector "gone"
    windows:
    - {cron: '61 * * * *', duration: 1h} ### minute: want 0 to 59
    - {cron: '* * * * *', duration: 0s} ### want more than 0
    - {cron: '* * * * *', duration: 1s, timeZone: Mars/Base} ### unknown time zone
    - cron: '@daily' ### want 5 fields
      duration: 9999h ### at most 8784h0m0s
      timeZone: Local ### want the name of a zone
  - name: a-name-so-long-that-it-does-not-fit-into-a-label-value-together ### over the 63 of a label value
    clusterSelectors: [{}]
    condition: 'true'
    progressDeadlineSeconds: 0 ### at least 1
    onFailure: Stop ### want Pause or Continue or Rollback
    guards: {minDestinations: -1} ### must not be negative
  - name: Prod ### is no object name
    clusterSelectors: [{}]
---
apiVersion: community.kubestellar.io/v1alpha1
kind: StagedBindingPolicy
metadata: {name: empty}
spec:
  stages: [] ### want at least one stage
---
apiVersion: control.kubestellar.io/v1alpha1
kind: StatusCollector
metadata: {name: ready}
spec:
  limits: 1 ### did you mean "limit"?
  combinedFields:
  - {name: n, type: COUNT} ### want a string, got the boolean false; quote it
`

func TestFaultsAreReportedTogether(t *testing.T) {
	text := strings.Builder{}
	wanted := map[int]string{}
	for i, line := range strings.SplitAfter(faulty, "\n") {
		code, want, marked := strings.Cut(line, " ### ")
		text.WriteString(code)
		if marked {
			text.WriteString("\n")
			wanted[i+1] = strings.TrimSpace(want)
		}
	}
	_, err := staged.Compile(staged.Options{}, staged.Parse("policy.yaml", []byte(text.String())))
	var faults staged.Errors
	require.ErrorAs(t, err, &faults)
	for _, f := range faults {
		require.Contains(t, f.Error(), wanted[f.Position.Line], "line %d", f.Position.Line)
		require.NotEmpty(t, wanted[f.Position.Line], f.Error())
		require.NotZero(t, f.Position.Column, f.Error())
		delete(wanted, f.Position.Line)
	}
	require.Empty(t, wanted)
}

// With updates: Staged no clause may choose the snapshots of the revisions.
func TestAClauseThatChoosesTheSnapshots(t *testing.T) {
	for clause, bad := range map[string]bool{
		"{apiGroup: apps}":                           true,
		"{resources: ['*']}":                         true,
		"{resources: [secrets], namespaces: []}":     true,
		"{namespaceSelectors: [{}]}":                 true,
		"{namespaces: [stagecraft-revisions]}":       true,
		"{resources: [deployments]}":                 false,
		"{namespaces: [shop]}":                       false,
		"{objectSelectors: [{matchLabels: {a: b}}]}": false,
	} {
		for _, updates := range []string{"Staged", "AtOnce"} {
			text := strings.Replace(policyHead, "{statusCollectors: [agg], objectSelectors: [{matchLabels: {app: web}}]}", clause, 1)
			_, err := staged.Compile(staged.Options{}, staged.Parse("p.yaml", []byte(text+"  updates: "+updates+"\n  stages: [{name: a, clusterSelectors: [{}]}]\n")))
			require.Equal(t, bad && updates == "Staged", err != nil, "%s %s: %v", clause, updates, err)
			if err != nil {
				require.ErrorContains(t, err, "p.yaml:5:14: policy \"s\": spec.downsync[0]: it chooses")
			}
		}
	}
}

// A policy that the compiler cannot see through is stalled when a snapshot is among its workload.
func TestASnapshotInTheWorkload(t *testing.T) {
	w := newWorld(t, twoStages(""))
	w.settle()
	snapshot := deployment("s-0123456789ab-0")
	snapshot.Resource, snapshot.Namespace = "controllerrevisions", "stagecraft-revisions"
	w.objects = append(w.objects, snapshot)
	d := w.decide()
	require.Contains(t, d.Message, "spec.downsync chooses controllerrevisions.apps stagecraft-revisions/s-0123456789ab-0")
	require.True(t, w.holds("Stalled"))
	require.Empty(t, d.Place)
	require.Nil(t, d.Keep, "no snapshot is written, and none is forgotten")
}

// A status can hold so many clusters, and no more: nothing is left out.
func TestTooManyClusters(t *testing.T) {
	for n, want := range map[int]bool{5000: false, 5001: true} {
		w := newWorld(t, twoStages(""))
		w.clusters = map[string]map[string]string{}
		for i := range n {
			w.clusters[fmt.Sprintf("a-cluster-with-a-long-name-%04d", i)] = map[string]string{"env": "dev"}
		}
		w.clusters["elsewhere"] = map[string]string{"env": "none"}
		d := w.settle()
		require.Equal(t, want, strings.Contains(d.Message, "the stages have 5001 clusters"), d.Message)
		require.Equal(t, want, len(d.Place) == 0)
		raw, err := json.Marshal(d.Status)
		require.NoError(t, err)
		require.Less(t, len(raw), 400<<10)
		t.Log(n, len(raw))
	}
}

func TestWarnings(t *testing.T) {
	p := compile(t, policyHead+"  stages: [{name: a, clusterSelectors: [{}]}, {name: b, condition: 1 > 2}]\n")
	require.EqualError(t, p.Warnings(), strings.TrimSpace(`
policy.yaml:6:12: warning: policy "s": spec.stages[0].condition: missing before the last stage: the rollout stops here
policy.yaml:6:47: warning: policy "s": spec.stages[1].clusterSelectors: missing: the stage selects no cluster
policy.yaml:6:68: warning: policy "s": spec.stages[1].condition: it is never true`))
	uncollected := strings.Replace(twoStages(""), "statusCollectors: [agg], ", "", 1)
	require.ErrorContains(t, compile(t, uncollected).Warnings(), "no clause of spec.downsync has statusCollectors")
	require.Empty(t, compile(t, strings.Replace(uncollected, "name: dev\n", "name: dev\n    guards: {allowEmpty: true}\n", 1)).Warnings())
	costly := policyHead + "  stages: [{name: a, clusterSelectors: [{}], condition: 1 / 0 == 1}]\n"
	require.ErrorContains(t, compile(t, costly).Warnings(), "it is never true: division by zero")
}

// Each case is one stage's windows; wants are the columns and words of the warnings.
func TestWindowsThatNeverOpenAreWarnedAbout(t *testing.T) {
	const (
		never  = "the stage will never be started"
		noDate = "this date never comes"
		nine   = "{cron: '0 9 * * *', duration: 1h}"
	)
	for name, tc := range map[string]struct {
		windows []string
		wants   []string
	}{
		"no such date":              {[]string{"{cron: '0 0 30 2 *', duration: 1h}"}, []string{"6:48: warning", "6:65: warning"}},
		"no such date, denied":      {[]string{"{cron: '0 0 31 4,6,9,11 *', duration: 1h, deny: true}"}, []string{noDate}},
		"one of two opens":          {[]string{"{cron: '0 0 30 2 *', duration: 1h}", nine}, []string{noDate}},
		"a leap day":                {[]string{"{cron: '0 0 29 2 *', duration: 1h}"}, nil},
		"a leap day on a Sunday":    {[]string{"{cron: '0 0 29 2 */7', duration: 1h}"}, nil},
		"denied all day":            {[]string{"{cron: '0 0 * * *', duration: 24h, deny: true}"}, []string{never}},
		"denied every minute":       {[]string{"{cron: '* * * * *', duration: 1m, deny: true}"}, []string{never}},
		"denied but for a minute":   {[]string{"{cron: '0 0 * * *', duration: 23h59m, deny: true}"}, nil},
		"all day, but days have 25": {[]string{"{cron: '0 0 * * *', duration: 24h, deny: true, timeZone: Europe/Berlin}"}, nil},
		"open only while denied":    {[]string{nine, "{cron: '0 8 * * *', duration: 3h, deny: true}"}, []string{never}},
		"denied on workdays":        {[]string{"{cron: '* * * * mon-fri', duration: 1m, deny: true}"}, nil},
		"a minute between two":      {[]string{nine, "{cron: '0 8 * * *', duration: 119m, deny: true}"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			windows := "[" + strings.Join(tc.windows, ", ") + "]"
			warnings := compile(t, policyHead+"  stages: [{name: dev, clusterSelectors: [{}], windows: "+windows+"}]\n").Warnings()
			require.Len(t, warnings, len(tc.wants), "%v", warnings)
			for i, want := range tc.wants {
				require.Contains(t, warnings[i].Error(), want)
			}
		})
	}
}

// What is wrong in an expression has the place of its token, however the text is written.
func TestFaultsStandAtTheirTokens(t *testing.T) {
	const twice = "cell('agg', 'n') == 1 && "
	for name, tc := range map[string]struct{ condition, token string }{
		"plain":   {twice + "cell('ag', 'n') == 1", "'ag'"},
		"quoted":  {`"` + twice + `\"ä\" != '' && cell('ag', 'n') == 1"`, "'ag'"},
		"literal": {"|\n      " + twice + "\n        cell('ag', 'n') == 1", "'ag'"},
		"folded":  {">-\n      " + twice + "\n      obj.results.exists(r, r.name == 'ag')", "'ag'"},
		"num":     {"|\n      true &&\n      num('n') == 'a'", "== 'a'"},
	} {
		text := twoStages("    condition: " + tc.condition + "\n")
		before := text[:strings.Index(text, tc.token)]
		at := fmt.Sprintf("p:%d:%d: policy", 1+strings.Count(before, "\n"), len(before)-strings.LastIndex(before, "\n"))
		_, err := staged.Compile(staged.Options{}, staged.Parse("p", []byte(text)))
		require.ErrorContains(t, err, at, name)
	}
}

func TestTooCostlyExpressionsAreRefused(t *testing.T) {
	long := "[" + strings.Repeat("1,", 200) + "1]"
	for name, expression := range map[string]string{
		"constant lists": long + ".map(a, " + long + ".map(b, " + long + ".map(c, a + b + c))).size() > 0",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := staged.CompileCondition(expression)
			require.ErrorContains(t, err, "over the limit")
		})
	}
}

func TestFaultsOfExpressionsHavePositions(t *testing.T) {
	for name, compile := range map[string]func(string) (*staged.Expression, error){
		"condition": staged.CompileCondition, "filter": staged.CompileFilter,
	} {
		_, err := compile("true &&\n  ob.a == 1 && x")
		var faults staged.Errors
		require.ErrorAs(t, err, &faults, name)
		require.EqualError(t, err, "2:3: undeclared reference to 'ob'\n2:16: undeclared reference to 'x'", name)
	}
}

func TestObjectsWithoutTextHaveFaultsWithoutPosition(t *testing.T) {
	_, err := staged.Compile(staged.Options{}, staged.Object(v1alpha1.StagedBindingPolicy{}))
	require.EqualError(t, err, "metadata.name: missing\nspec.stages: want at least one stage")
	var fault *staged.Error
	require.True(t, errors.As(err, &fault))
}

func TestOtherObjectsAreHandedOn(t *testing.T) {
	s := staged.Parse("f", []byte(`{kind: List, apiVersion: v1, items: [{kind: Pod, apiVersion: v1}]}
---
{kind: ConfigMap, apiVersion: v1}
---
3
`))
	require.Len(t, s.Others(), 2)
	_, err := staged.Compile(staged.Options{}, s)
	require.ErrorContains(t, err, "f:5")
}

func TestMisspeltKindsAreFaults(t *testing.T) {
	const ours, theirs = "community.kubestellar.io/v1alpha1", "control.kubestellar.io/v1alpha1"
	for _, tc := range []struct{ apiVersion, kind, fault string }{
		{ours, "StagedBindingpolicy", `f:2:7: policy "x": kind: unknown "StagedBindingpolicy"; did you mean StagedBindingPolicy?`},
		{ours, "StagedBindingPolicies", "f:2:7"},
		{"v1", "stagedbindingpolicy", "did you mean StagedBindingPolicy?"},
		{"comunity.kubestellar.io/v1alpha1", "StagedBindingPolicy", "f:1:13: policy \"x\": apiVersion: want " + ours},
		{theirs, "StatusColector", "did you mean StatusCollector?"},
		{"control.kubestelar.io/v1alpha1", "StatusCollector", "f:1:13: policy \"x\": apiVersion: unknown \"control.kubestelar.io/v1alpha1\"; did you mean " + theirs},
		{"control.kubestellar.io/v1", "CombinedStatus", "did you mean " + theirs},
		{ours, "BindingPolicy", "did you mean " + theirs},
		{theirs, "BindingPolicy", ""},
		{theirs, "WorkStatus", ""},
		{"v1", "Binding", ""},
		{"v1", "Bindings", ""},
		{"policy/v1", "PodDisruptionBudget", ""},
		{"", "Deployment", ""},
	} {
		s := staged.Parse("f", []byte("apiVersion: "+tc.apiVersion+"\nkind: "+tc.kind+"\nmetadata: {name: x}\nspec: {stages: [{name: a}]}\n"))
		_, err := staged.Compile(staged.Options{}, s)
		if tc.fault == "" {
			require.Len(t, s.Others(), 1, "%v", tc)
			continue
		}
		require.ErrorContains(t, err, tc.fault, "%v", tc)
		require.Empty(t, s.Others())
	}
}

func TestItemsOfAListHaveItsType(t *testing.T) {
	text := `apiVersion: community.kubestellar.io/v1alpha1
kind: StagedBindingPolicyList
items: [{metadata: {name: a}, spec: {stages: [{name: a}]}}]
`
	policies, err := staged.Compile(staged.Options{}, staged.Parse("f", []byte(text)))
	require.NoError(t, err)
	require.Equal(t, "a", policies[0].Name())
	_, err = staged.Compile(staged.Options{}, staged.Parse("f", []byte(strings.Replace(text, "alpha1", "beta1", 1))))
	require.ErrorContains(t, err, "want community.kubestellar.io/v1alpha1")
}

func TestSourcesWithoutAnyPolicyAreAFault(t *testing.T) {
	other := "{kind: ConfigMap, apiVersion: v1}"
	for _, text := range []string{"", "---\n# nothing\n", other} {
		_, err := staged.Compile(staged.Options{}, staged.Parse("f", []byte(text)))
		require.EqualError(t, err, "f: no StagedBindingPolicy here")
	}
	policies, err := staged.Compile(staged.Options{}, staged.Parse("f", []byte(other)), staged.Parse("g", []byte(twoStages(""))))
	require.NoError(t, err)
	require.Len(t, policies, 1)
	_, err = staged.Compile(staged.Options{})
	require.NoError(t, err, "a hub may have none")
}

func TestManifestIsWellFormed(t *testing.T) {
	var crd map[string]any
	require.NoError(t, yaml.UnmarshalStrict([]byte(v1alpha1.CRD()), &crd))
	require.Equal(t, "CustomResourceDefinition", crd["kind"])
}

const corpus = "../../shared/conformance/staged"

// The policies of the workload stager's documents compile; one of an earlier shape does not.
func TestDocumentsCompile(t *testing.T) {
	for file, ok := range map[string]bool{"sbp-seed-document.yaml": true, "sbp-readme-head.yaml": true, "sbp-first-readme.yaml": false} {
		data, err := os.ReadFile(filepath.Join(corpus, "examples", file))
		if errors.Is(err, os.ErrNotExist) {
			t.Skip("the corpus is not here:", err)
		}
		require.NoError(t, err)
		_, err = staged.Compile(staged.Options{}, staged.Parse(file, data))
		require.Equal(t, ok, err == nil, "%s: %v", file, err)
	}
}

// A fault of an expression says what to write instead, where the source shows that.
func TestFaultsOfExpressionsHaveHints(t *testing.T) {
	for source, want := range map[string]string{
		"results[0].x == 1":             "undeclared reference to 'results'; want obj.results, num(column) or cell(collector, column)",
		"0.9 * size(destinations) > 1":  "want double(…) around the integer",
		"since > 10m":                   "want duration('10m')",
		"'5' == size(destinations)":     "applied to '(string, int)'; values of these types are never equal: want one of int(…)",
		"obj.x == 1 && reported != 'b'": "values of these types are never equal",
		"reported == 2.5":               "want one of int(…), double(…)",
		"since > 5":                     "values of these types have no order",
		"'x' == size(destinations)":     "no matching overload",
	} {
		_, err := staged.CompileCondition(source)
		require.ErrorContains(t, err, want, source)
	}
}
