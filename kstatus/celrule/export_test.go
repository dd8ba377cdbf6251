package celrule_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/celrule"
)

func ExampleSpec_Flux() {
	spec := celrule.Spec{
		Group: "bakery.example.com", Kind: "Cake",
		Failed:  `self.status.stage == "burnt" || !(status.oven.ok)`,
		Current: `status.stage == "iced" && status.conditions.exists(c, c.type == "Ready" && c.status == "True")`,
	}
	check, err := spec.Flux("v1")
	fmt.Println(err, check.APIVersion, check.Kind)
	fmt.Println(check.Failed)
	fmt.Println(check.Current)
	// Output:
	// <nil> bakery.example.com/v1 Cake
	// has(status.stage) && status.stage == "burnt" || !(!has(status.oven) || !(type(status.oven) == map) || !has(status.oven.ok) || status.oven.ok)
	// has(status.stage) && status.stage == "iced" && has(status.conditions) && status.conditions != null && status.conditions.exists(c, has(c.type) && c.type == "Ready" && has(c.status) && c.status == "True")
}

func ExampleSpec_Kro() {
	ready, err := celrule.Spec{Kind: "Cake", Failed: `status.stage == "burnt"`, Current: `has(self.status) && status.stage == "iced"`}.Kro("cake")
	fmt.Println(err)
	for _, expression := range ready {
		fmt.Println(expression)
	}
	// Output:
	// <nil>
	// ${!has(cake.metadata.generation) || !has(cake.status) || !has(cake.status.observedGeneration) || !string(dyn(cake.status.observedGeneration)).matches("^[0-9]+$") || int(dyn(cake.status.observedGeneration)) >= cake.metadata.generation}
	// ${!(has(cake.status) && has(cake.status.stage) && cake.status.stage == "burnt")}
	// ${has(cake.status) && has(cake.status) && has(cake.status.stage) && cake.status.stage == "iced"}
}

func TestWhatCannotBeExported(t *testing.T) {
	for name, c := range map[string]struct {
		spec      celrule.Spec
		flux, kro string // the faults; "": it can be exported
	}{
		"a time":            {celrule.Spec{Kind: "A", Current: "Now() > timestamp(metadata.creationTimestamp)"}, "current: there: undeclared reference to 'Now'", "current: there: undeclared reference to 'Now'"},
		"mathematics":       {celrule.Spec{Kind: "A", Current: "math.greatest(status.a, 1) > 1"}, "current: there: undeclared reference to 'greatest'", "greatest"},
		"sets":              {celrule.Spec{Kind: "A", Current: "sets.contains(status.a, [1])"}, "", "current: there: found no matching overload for 'contains'"},
		"two variables":     {celrule.Spec{Kind: "A", Current: "status.a.exists(i, v, v > i)"}, "current: there: ", ""},
		"the whole object":  {celrule.Spec{Kind: "A", Current: "size(self) > 3"}, "current: there the object as a whole has no name", ""},
		"several groups":    {celrule.Spec{Group: "*.example.com", Kind: "A", Current: "true"}, `group: "*.example.com": a check of Flux is for one group`, ""},
		"all kinds":         {celrule.Spec{Group: "example.com", Kind: "*", Current: "true"}, "", ""},
		"a faulty one":      {celrule.Spec{Kind: "A", Current: "stats.a"}, "current: undeclared reference to 'stats'", "current: undeclared reference to 'stats'"},
		"none":              {celrule.Spec{Kind: "A"}, "current: is required", "current: is required"},
		"fields of lists":   {celrule.Spec{Kind: "A", Current: `status.a[0].b == "c" && metadata.labels["x"] == "y"`}, "", ""},
		"an optional field": {celrule.Spec{Kind: "A", Current: `status.?a.?b.orValue("") == "c"`}, "", ""},
		"a condition":       {celrule.Spec{Kind: "A", Current: `status.a ? status.b : status.c`}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.spec.Flux("v1")
			requireFault(t, c.flux, err)
			_, err = c.spec.Kro("a")
			requireFault(t, c.kro, err)
		})
	}
	_, err := celrule.Spec{Kind: "A", Current: "true"}.Kro("a-b")
	requireFault(t, `id: "a-b" is no id of a resource`, err)
}

func requireFault(t *testing.T, want string, err error) {
	t.Helper()
	if want == "" {
		require.NoError(t, err)
		return
	}
	require.ErrorContains(t, err, want)
	var errs celrule.Errors
	require.ErrorAs(t, err, &errs)
}

// TestFluxFilesAreRead as they are: a list of checks, or a Kustomization of Flux.
func TestFluxFilesAreRead(t *testing.T) {
	const checks = `healthCheckExprs:
- apiVersion: bakery.example.com/v1
  kind: Cake
  inProgress: status.observedGeneration != metadata.generation
  failed: status.conditions.filter(e, e.type == 'Ready').all(e, e.status == 'False')
  current: status.conditions.filter(e, e.type == 'Ready').all(e, e.status == 'True')
- apiVersion: report.example.com/v1alpha1
  current: summary.passed == 3 && type(summary.passed) != string
`
	kustomization := "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps}\nspec:\n  interval: 5m\n  " +
		"wait: true\n  " + string(indent(checks))
	for _, text := range []string{checks, kustomization} {
		rules, err := celrule.Parse("flux.yaml", []byte(text))
		require.NoError(t, err)
		require.Len(t, rules, 2)
		profile := kstatus.Extended().With(rules)
		for manifest, want := range map[string]kstatus.Status{
			`{apiVersion: bakery.example.com/v2, kind: Cake, metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [{type: Ready, status: "True"}]}}`:  kstatus.Current,
			`{apiVersion: bakery.example.com/v1, kind: Cake, metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [{type: Ready, status: "False"}]}}`: kstatus.Failed,
			`{apiVersion: bakery.example.com/v1, kind: Cake}`:                                      kstatus.InProgress,
			`{apiVersion: report.example.com/v1alpha1, kind: ClusterReport, summary: {passed: 3}}`: kstatus.Current,
			`{apiVersion: report.example.com/v1alpha1, kind: Report, summary: {passed: 2}}`:        kstatus.InProgress,
		} {
			require.Equal(t, want, profile.Compute(object(t, manifest), now).Status, manifest)
		}
	}
}

func indent(text string) (out []byte) {
	for _, c := range []byte(text) {
		if out = append(out, c); c == '\n' {
			out = append(out, "  "...)
		}
	}
	return out
}

func TestFaultsOfFluxFiles(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no version": {"healthCheckExprs:\n- {apiVersion: apps/, kind: A, current: 'true'}", `x.yaml:2:16: healthCheckExprs[0].apiVersion: "apps/" is no apiVersion`},
		"no current": {"healthCheckExprs:\n- {apiVersion: a.com/v1, kind: A}", "x.yaml:2:3: healthCheckExprs[0].current: is required"},
		"another field": {"spec:\n  healthCheckExprs:\n  - {apiVersion: a.com/v1, kind: A, current: 'true', ready: 'true'}",
			"x.yaml:3:54: spec.healthCheckExprs[0].ready: unknown field"},
		"a syntax error": {"healthCheckExprs:\n- apiVersion: a.com/v1\n  kind: A\n  current: status.a = 1\n", "x.yaml:4:21: healthCheckExprs[0].current: Syntax error: token recognition error at: '= '; write =="},
		"a name of another language": {"healthCheckExprs:\n- apiVersion: a.com/v1\n  kind: A\n  current: status.a == True\n",
			"x.yaml:4:24: healthCheckExprs[0].current: undeclared reference to 'True'; write true"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := celrule.Parse("x.yaml", []byte(c.text))
			require.ErrorContains(t, err, c.want)
		})
	}
}
