package kstatus_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

func say(message string) kstatus.Rule {
	return func(kstatus.Object) (kstatus.Result, bool) { return kstatus.Failed.Because("Said", message), true }
}

func noOpinion(kstatus.Object) (kstatus.Result, bool) { return kstatus.Result{}, false }

func objectOf(apiVersion, kind string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
}

func TestTheMostSpecificRuleWins(t *testing.T) {
	rules := kstatus.Standard().With(map[schema.GroupKind]kstatus.Rule{
		{Group: "*", Kind: "*"}:                 say("anything"),
		{Group: "*", Kind: "Gadget"}:            say("any gadget"),
		{Group: "*.example.com", Kind: "*"}:     say("below example.com"),
		{Group: "*.eu.example.com", Kind: "*"}:  say("below eu.example.com"),
		{Group: "de.eu.example.com", Kind: "*"}: say("de.eu.example.com"),
		{Group: "de.eu.example.com", Kind: "A"}: say("A"),
		{Kind: "Pod"}:                           say("a pod"),
		{Group: "apps", Kind: "Deployment"}:     noOpinion,
		{Group: "nil", Kind: "Nil"}:             nil,
	})
	cases := map[string]struct{ apiVersion, kind, want string }{
		"the kind itself":                          {"de.eu.example.com/v1", "A", "A"},
		"all kinds of the group":                   {"de.eu.example.com/v1", "B", "de.eu.example.com"},
		"the longer ending":                        {"fr.eu.example.com/v1", "B", "below eu.example.com"},
		"the shorter ending":                       {"us.example.com/v1", "B", "below example.com"},
		"an ending is not the group itself":        {"example.com/v1", "B", "anything"},
		"a kind in any group":                      {"x/v1", "Gadget", "any gadget"},
		"any group includes core":                  {"v1", "Node", "anything"},
		"a rule of a profile comes after":          {"v1", "Pod", "a pod"},
		"a rule without opinion leaves it to them": {"apps/v1", "Deployment", "anything"},
		"a nil rule is none":                       {"nil/v1", "Nil", "anything"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, rules.Compute(objectOf(c.apiVersion, c.kind), now).Message())
		})
	}
}

// TestGivenRulesComeFirst: also those for all kinds of a group, and those of the last call.
func TestGivenRulesComeFirst(t *testing.T) {
	certificate := objectOf("cert-manager.io/v1", "Certificate")
	for _, profile := range []*kstatus.Rules{kstatus.Standard(), kstatus.Extended()} {
		group := profile.With(map[schema.GroupKind]kstatus.Rule{{Group: "cert-manager.io", Kind: "*"}: say("group"), {Group: "apps", Kind: "*"}: say("apps")})
		require.Equal(t, "group", group.Compute(certificate, now).Message())
		require.Equal(t, "apps", group.Compute(objectOf("apps/v1", "Deployment"), now).Message())
		require.Equal(t, profile.Compute(objectOf("v1", "Pod"), now), group.Compute(objectOf("v1", "Pod"), now))
		require.Equal(t, profile.Generic().Compute(certificate, now), group.Generic().Compute(certificate, now))

		later := group.With(map[schema.GroupKind]kstatus.Rule{{Group: "*.io", Kind: "*"}: say("later")})
		require.Equal(t, "later", later.Compute(certificate, now).Message())
		require.Contains(t, later.Explain(certificate, now).String(), "later")
	}
}

func TestWhatARuleHasNoOpinionOnLeavesNothing(t *testing.T) {
	half := func(kstatus.Object) (kstatus.Result, bool) {
		return kstatus.Failed.Because("Half", "said").At("status.half"), false
	}
	rules := kstatus.Standard().With(map[schema.GroupKind]kstatus.Rule{{Group: "apps", Kind: "Deployment"}: half, {Kind: "Pod"}: half})
	for name, obj := range measured(t) {
		require.Equal(t, kstatus.Standard().Compute(obj, now), rules.Compute(obj, now), name)
	}
}

func TestWithLeavesTheOriginalAlone(t *testing.T) {
	pod := objectOf("v1", "Pod")
	gk := schema.GroupKind{Kind: "Pod"}
	first := kstatus.Standard().With(map[schema.GroupKind]kstatus.Rule{gk: say("first")})
	second := first.With(map[schema.GroupKind]kstatus.Rule{gk: say("second"), {Group: "*", Kind: "*"}: say("wild"), {Group: "x", Kind: "*"}: say("x")})
	require.Equal(t, "second", second.Compute(pod, now).Message())
	require.Equal(t, "first", first.Compute(pod, now).Message())
	require.Equal(t, "Pod phase not available", kstatus.Standard().Compute(pod, now).Message())
	require.Equal(t, "Resource is current", first.Compute(objectOf("y/v1", "Y"), now).Message())
}

// TestNoRuleHidesWhatHoldsForEverything: an eager rule comes last.
func TestNoRuleHidesWhatHoldsForEverything(t *testing.T) {
	eager := func(kstatus.Object) (kstatus.Result, bool) { return kstatus.Current.Because("", "fine"), true }
	profiles := map[string]*kstatus.Rules{"standard": kstatus.Standard(), "extended": kstatus.Extended()}
	cases := map[string]struct {
		rest string
		want kstatus.Status
	}{
		"nothing of the kind":            {`{status: {conditions: [{type: Ready, status: "False"}]}}`, kstatus.Current},
		"deletion":                       {`{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}}`, kstatus.Terminating},
		"an unseen generation":           {`{metadata: {generation: 2}, status: {observedGeneration: 1}}`, kstatus.InProgress},
		"conditions that are unreadable": {`{status: {conditions: none}}`, kstatus.Unknown},
		"a status that is unreadable":    {`{status: none}`, kstatus.Unknown},
		"Stalled":                        {`{status: {conditions: [{type: Ready, status: "True"}, {type: Stalled, status: "True"}]}}`, kstatus.Failed},
		"Reconciling":                    {`{status: {conditions: [{type: Ready, status: "True"}, {type: Reconciling, status: "True"}]}}`, kstatus.InProgress},
		"Reconciling what is complete":   {`{status: {conditions: [{type: Complete, status: "True"}, {type: Reconciling, status: "True"}]}}`, kstatus.InProgress},
		"Stalled=False":                  {`{status: {conditions: [{type: Stalled, status: "False"}]}}`, kstatus.Current},
	}
	for profile, rules := range profiles {
		for _, kind := range []string{"example.com/v1 Widget", "apps/v1 Deployment", "kustomize.toolkit.fluxcd.io/v1 Kustomization"} {
			apiVersion, kind, _ := strings.Cut(kind, " ")
			group, _, _ := strings.Cut(apiVersion, "/")
			with := rules.With(map[schema.GroupKind]kstatus.Rule{{Group: group, Kind: kind}: eager})
			for name, c := range cases {
				t.Run(profile+"/"+kind+"/"+name, func(t *testing.T) {
					obj := parse(t, c.rest)
					obj.SetAPIVersion(apiVersion)
					obj.SetKind(kind)
					require.Equal(t, c.want, with.Compute(obj, now).Status)
				})
			}
		}
	}
}

func TestGenericHasNoKinds(t *testing.T) {
	rules := kstatus.Standard().With(map[schema.GroupKind]kstatus.Rule{{Group: "*", Kind: "*"}: say("wild")}).Generic()
	require.Equal(t, "Resource is current", rules.Compute(objectOf("apps/v1", "Deployment"), now).Message())
}

func TestExpectations(t *testing.T) {
	rules := kstatus.Standard().With(map[schema.GroupKind]kstatus.Rule{
		{Group: "example.com", Kind: "Widget"}: kstatus.Expectations{Conditions: []string{"Ready", "Synced"}, ObservedGeneration: true}.Rule,
	})
	cases := map[string]struct{ status, want string }{
		"no status yet":               {"{}", "InProgress NoObservedGeneration: Widget status.observedGeneration not found (status.observedGeneration)"},
		"a condition is missing":      {`{observedGeneration: 1, conditions: [{type: Ready, status: "True"}]}`, `InProgress ConditionMissing: Widget condition Synced not found (status.conditions[type="Synced"])`},
		"a condition is not true":     {`{observedGeneration: 1, conditions: [{type: Ready, status: "True"}, {type: Synced, status: "False", reason: Busy}]}`, `InProgress Busy (status.conditions[type="Synced"])`},
		"all is there, others decide": {`{observedGeneration: 1, conditions: [{type: Ready, status: "True"}, {type: Synced, status: "True"}]}`, `Current: Resource is Ready (status.conditions[type="Ready"])`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			obj := parse(t, "apiVersion: example.com/v1\nkind: Widget\nmetadata: {generation: 1}\nstatus: "+c.status)
			require.Equal(t, c.want, verdict(rules.Compute(obj, now)))
		})
	}
}

func TestRulesReadTolerantly(t *testing.T) {
	obj := parse(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {generation: 2}, spec: {size: "4", active: true, tags: [a], limits: {cpu: "1"}},
  status: {observedGeneration: 2, conditions: [{type: A, status: "True", observedGeneration: 2}, {type: B, status: false}]}}`)
	rule := func(o kstatus.Object) (kstatus.Result, bool) {
		size, ok := o.Int("spec", "size")
		require.True(t, ok)
		require.EqualValues(t, 4, size)
		require.EqualValues(t, 7, o.IntOr(7, "spec", "nothing"))
		require.True(t, o.Bool("spec", "active"))
		require.Len(t, o.List("spec", "tags"), 1)
		require.Equal(t, "1", o.Map("spec", "limits")["cpu"])
		require.Equal(t, []string{"example.com", "Widget", ""}, []string{o.Group(), o.Kind(), o.Text("spec", "size", "x")})
		require.Equal(t, obj.Object, o.Fields())
		var types []string
		for c := range o.Conditions() {
			types = append(types, c.Type+c.Status)
		}
		require.Equal(t, []string{"ATrue", "BFalse"}, types)
		a, found := o.Condition("A")
		require.True(t, found)
		require.EqualValues(t, 2, a.ObservedGeneration)
		_, found = o.Condition("C")
		require.False(t, found)
		require.Equal(t, now, o.Now())
		generation, observed, ok := o.Generations()
		require.True(t, ok && generation == observed)
		return kstatus.Current.Because("", "read"), true
	}
	rules := kstatus.Standard().With(map[schema.GroupKind]kstatus.Rule{{Group: "example.com", Kind: "Widget"}: rule})
	require.Equal(t, "read", rules.Compute(obj, now).Message())
}

func TestWildcardsCostNoAllocation(t *testing.T) {
	rules := kstatus.Standard().With(map[schema.GroupKind]kstatus.Rule{{Group: "*.example.com", Kind: "*"}: noOpinion, {Group: "a.b", Kind: "*"}: noOpinion})
	obj := objectOf("eu.example.com/v1", "Widget")
	require.Zero(t, testing.AllocsPerRun(100, func() { rules.Compute(obj, now) }))
}
