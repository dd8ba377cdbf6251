package staged_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

func TestWorkloadMovesFromStageToStage(t *testing.T) {
	w := newWorld(t, twoStages(""))
	d := w.decide()
	require.Equal(t, []string{"s.stage.dev"}, w.exist())
	require.Equal(t, "dev", w.status.ActiveStage)
	require.Len(t, d.Events, 1)
	w.settle()
	require.Contains(t, w.last.Message, "not one", "no cluster has reported, so there is no sum")
	w.available["dev1"] = 1
	d = w.decide()
	require.Equal(t, []string{"s.stage.dev", "s.stage.prod"}, w.exist(), "the next policy is there before the old one goes")
	require.Empty(t, d.Remove)
	w.settle()
	require.Equal(t, []string{"s.stage.prod"}, w.exist())
	require.True(t, w.holds("Succeeded"))
	require.Equal(t, v1alpha1.Succeeded, w.phase("dev"))
	require.Equal(t, []string{"active dev", "create s.stage.dev", "active prod", "create s.stage.prod", "delete s.stage.dev"}, w.log)

	w.available["dev1"] = 0
	w.available["prod1"] = 0
	w.settle()
	require.Equal(t, []string{"s.stage.prod"}, w.exist(), "the end is the end")
}

// Each of these is a fault of the workload stager.
func TestFaultsOfTheWorkloadStager(t *testing.T) {
	t.Run("a restart goes on", func(t *testing.T) {
		w := newWorld(t, twoStages(""))
		w.settle()
		w.policy = compile(t, twoStages(""))
		w.available["dev1"] = 1
		w.settle()
		require.Equal(t, []string{"s.stage.prod"}, w.exist())
	})
	t.Run("an edit of the spec reaches the policy, and the rollout goes on", func(t *testing.T) {
		w := newWorld(t, twoStages(""))
		w.settle()
		w.policy = compile(t, twoStages("    clusterSelectors: [{matchLabels: {env: dev2}}]\n"))
		w.clusters["dev2"] = map[string]string{"env": "dev2"}
		w.meta.Generation++
		w.settle()
		require.Equal(t, map[string]string{"env": "dev2"}, w.policies["s.stage.dev"].Spec.ClusterSelectors[0].MatchLabels)
		w.available["dev2"] = 1
		w.settle()
		require.Equal(t, "prod", w.status.ActiveStage)
	})
	t.Run("a satisfied condition on the last stage ends the rollout", func(t *testing.T) {
		w := newWorld(t, twoStages("")+"    condition: num('sum') == 2\n")
		w.available = map[string]int64{"dev1": 1, "prod1": 1, "prod2": 1}
		w.settle()
		require.Equal(t, []string{"s.stage.prod"}, w.exist())
		require.True(t, w.holds("Succeeded"))
	})
	t.Run("a status update that is lost is made again", func(t *testing.T) {
		w := newWorld(t, twoStages(""))
		w.settle()
		w.available["dev1"] = 1
		w.decide(0)
		require.Equal(t, []string{"s.stage.dev"}, w.exist(), "nothing is done before the status is stored")
		w.settle()
		require.Equal(t, []string{"s.stage.prod"}, w.exist())
	})
	t.Run("the old policy stays while the next cannot be created", func(t *testing.T) {
		w := newWorld(t, twoStages(""))
		w.available["dev1"] = 1
		w.decide()
		for range 3 {
			w.decide(1)
			require.Equal(t, []string{"s.stage.dev"}, w.exist())
		}
	})
	t.Run("an active stage that is not in the spec stalls", func(t *testing.T) {
		w := newWorld(t, twoStages(""))
		w.status.ActiveStage = "qa"
		d := w.settle()
		require.True(t, w.holds("Stalled"))
		require.Empty(t, d.Ensure)
		require.Contains(t, d.Message, `"qa"`)
	})
	t.Run("the group of a clause is the group", func(t *testing.T) {
		w := newWorld(t, twoStages("    filter: downsyncClause.group == 'apps'\n"))
		w.available["dev1"] = 1
		w.settle()
		require.Equal(t, "prod", w.status.ActiveStage)
	})
	t.Run("a filter that fails blocks", func(t *testing.T) {
		w := newWorld(t, twoStages("    filter: downsyncClause.createOnly.x || downsyncClause.name == 'other'\n"))
		w.objects = append(w.objects, deployment("other"))
		w.available["dev1"] = 1
		w.settle()
		require.Equal(t, "dev", w.status.ActiveStage)
		require.Contains(t, w.last.Message, "filter:")
	})
	t.Run("status older than the workload does not count", func(t *testing.T) {
		w := newWorld(t, twoStages(""))
		w.boundAt, w.available["dev1"], w.returned["dev1"] = start, 1, start.Add(-time.Second)
		w.settle()
		require.Equal(t, "dev", w.status.ActiveStage)
		require.Contains(t, w.last.Message, "no status of the bound workload from dev1")
		w.returned["dev1"] = start
		w.settle()
		require.Equal(t, "prod", w.status.ActiveStage)
	})
	t.Run("no destination satisfies nothing", func(t *testing.T) {
		w := newWorld(t, policyHead+"  stages: [{name: dev, condition: 'true'}, {name: prod}]\n")
		w.settle()
		require.Equal(t, "dev", w.status.ActiveStage)
		require.Contains(t, w.last.Message, "0 destinations")
	})
	t.Run("no object satisfies nothing", func(t *testing.T) {
		w := newWorld(t, twoStages(""))
		w.objects = nil
		w.settle()
		require.Contains(t, w.last.Message, "no object")
	})
	t.Run("a filter that keeps nothing satisfies nothing", func(t *testing.T) {
		w := newWorld(t, twoStages("    filter: 'false'\n"))
		w.available["dev1"] = 1
		w.settle()
		require.Contains(t, w.last.Message, "keeps none of 1 objects")
	})
	t.Run("each object needs a status", func(t *testing.T) {
		w := newWorld(t, twoStages(""))
		w.objects = append(w.objects, deployment("other"))
		w.available["dev1"] = 1
		w.collectors = map[string]*kubestellar.Collector{}
		w.settle()
		require.Equal(t, "dev", w.status.ActiveStage)
	})
	t.Run("errors in the columns that a condition reads block", func(t *testing.T) {
		w := newWorld(t, twoStages("    condition: num('sum') == 1 || true\n"))
		w.clusters["dev2"] = map[string]string{"env": "dev"}
		w.available["dev1"] = 1
		w.settle()
		require.Contains(t, w.last.Message, "collector agg: sum: dev2")
		w.available["dev2"] = 1
		w.settle()
		require.Equal(t, "prod", w.status.ActiveStage)
	})
	t.Run("the policy before stays until the next has a cluster", func(t *testing.T) {
		w := newWorld(t, twoStages(""))
		delete(w.clusters, "prod1")
		delete(w.clusters, "prod2")
		w.available["dev1"] = 1
		w.settle()
		require.Equal(t, []string{"s.stage.dev", "s.stage.prod"}, w.exist())
		require.False(t, w.holds("Succeeded"))
	})
	t.Run("a status of an earlier policy of the same name does not count", func(t *testing.T) {
		w := newWorld(t, twoStages(""))
		w.settle()
		w.available["dev1"] = 1
		seen := w.observe()
		seen.BindingPolicies[0].UID = "new"
		d := bindingpolicy.Decide(w.policy, w.status, seen, w.now)
		require.Equal(t, "dev", d.Status.ActiveStage)
		require.Contains(t, d.Message, "earlier")
	})
}

func TestRetentionKeep(t *testing.T) {
	w := newWorld(t, twoStages("")+"  retention: Keep\n  onChange: Restart\n")
	w.available["dev1"] = 1
	w.settle()
	require.Equal(t, []string{"s.stage.dev", "s.stage.prod"}, w.exist())
	w.available["dev1"] = 0
	edited := twoStages(fields("clusterSelectors: [{matchLabels: {name: dev1}}]"))
	w.policy = compile(t, edited+"  retention: Keep\n  onChange: Restart\n")
	w.settle()
	require.Equal(t, "dev", w.status.ActiveStage, "a change begins again")
	require.Equal(t, []string{"s.stage.dev", "s.stage.prod"}, w.exist(), "and takes nothing away")
}

func TestOnChangeRestart(t *testing.T) {
	w := newWorld(t, twoStages("")+"  onChange: Restart\n")
	w.available["dev1"] = 1
	w.settle()
	w.available["dev1"] = 0
	w.policy = compile(t, twoStages("    soak: 1s\n")+"  onChange: Restart\n")
	w.settle()
	require.Equal(t, "prod", w.status.ActiveStage, "a gate is no change of what is placed")
	w.policy = compile(t, twoStages("    clusterSelectors: [{matchLabels: {name: dev1}}]\n")+"  onChange: Restart\n")
	w.settle()
	require.Equal(t, []string{"s.stage.dev"}, w.exist())
}

func TestMiddleStageWithoutConditionStalls(t *testing.T) {
	w := newWorld(t, policyHead+"  stages: [{name: a, clusterSelectors: [{}]}, {name: b}]\n")
	w.settle()
	require.True(t, w.holds("Stalled"))
	require.Equal(t, []string{"s.stage.a"}, w.exist())
}

func TestRowsTellWhichClustersReported(t *testing.T) {
	w := newWorld(t, strings.Replace(twoStages("    condition: reported >= 1\n"), "[agg]", "[times]", 1))
	times, err := kubestellar.Compile(control.StatusCollectorSpec{Select: []control.NamedExpression{
		{Name: "cluster", Def: "inventory.name"}, {Name: "at", Def: "propagation.lastReturnedUpdateTimestamp"},
	}})
	require.NoError(t, err)
	w.collectors = map[string]*kubestellar.Collector{"times": times}
	w.clusters["dev2"] = map[string]string{"env": "dev"}
	w.available["dev1"], w.returned["dev1"] = 1, start
	w.settle()
	require.Contains(t, w.last.Message, "no status of the bound workload from dev2")
	w.available["dev2"], w.returned["dev2"] = 1, start
	w.settle()
	require.Equal(t, "prod", w.status.ActiveStage)
}

func TestGuardsCanBeLoosened(t *testing.T) {
	for _, tc := range []struct {
		name, guards string
		change       func(*world)
	}{
		{"allowEmpty lets a stage without objects pass", fields("guards: {allowEmpty: true}"),
			func(w *world) { w.objects = nil }},
		{"minDestinations 0 lets a stage without clusters pass",
			fields("condition: destinations.size() == 0", "guards: {minDestinations: 0}"),
			func(w *world) { delete(w.clusters, "dev1") }},
		{"allowStale takes any status", fields("guards: {allowStale: true}"),
			func(w *world) { w.boundAt = start }},
		{"allowErrors takes columns with errors", fields("guards: {allowErrors: true}"),
			func(w *world) { w.clusters["dev2"] = map[string]string{"env": "dev"} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			loose, strict := newWorld(t, twoStages(tc.guards)), newWorld(t, twoStages(""))
			for _, w := range []*world{loose, strict} {
				w.available["dev1"] = 1
				tc.change(w)
				w.settle()
			}
			require.Equal(t, "prod", loose.status.ActiveStage, loose.last.Message)
			require.Equal(t, "dev", strict.status.ActiveStage)
		})
	}
}

func TestConditionsReadTheTime(t *testing.T) {
	w := newWorld(t, twoStages("    condition: since > duration('90s') && now > timestamp('2026-01-01T00:00:00Z')\n"))
	w.available["dev1"] = 1
	for range 9 {
		w.settle()
		require.Equal(t, "dev", w.status.ActiveStage)
		require.Equal(t, 10*time.Second, w.last.RecheckAfter)
		w.pass(w.last.RecheckAfter)
	}
	w.pass(time.Second)
	w.settle()
	require.Equal(t, "prod", w.status.ActiveStage)
}

func TestDeletedPolicyDecidesNothing(t *testing.T) {
	w := newWorld(t, twoStages(""))
	w.meta.DeletionTimestamp = &metav1.Time{Time: start}
	d := w.decide()
	require.Empty(t, d.Ensure)
	require.Equal(t, v1alpha1.Status{}, d.Status)
}

func TestTransitionTimesMoveWithTheStatusAlone(t *testing.T) {
	w := newWorld(t, twoStages(""))
	w.settle()
	before := w.status.Conditions[1]
	w.pass(time.Hour)
	w.objects = nil
	w.settle()
	after := w.status.Conditions[1]
	require.NotEqual(t, before.Message, after.Message)
	require.Equal(t, before.LastTransitionTime, after.LastTransitionTime)
}

func TestErrorsInOtherColumnsDoNotBlock(t *testing.T) {
	w := newWorld(t, strings.Replace(twoStages(""), "[agg]", "[agg, other]", 1))
	bad := "returned.status.none"
	other, err := kubestellar.Compile(control.StatusCollectorSpec{CombinedFields: []control.NamedAggregator{{Name: "x", Type: "SUM", Subject: &bad}}})
	require.NoError(t, err)
	w.collectors = map[string]*kubestellar.Collector{"agg": w.collectors["agg"], "other": other}
	w.available["dev1"] = 1
	w.settle()
	require.Equal(t, "prod", w.status.ActiveStage, w.last.Message)
}

// What Explain says of each part of a condition for a sum of 1, and what the message of the stage
// says.
func TestExplainSaysWhatIsSeenAndWanted(t *testing.T) {
	for condition, want := range map[string][]string{
		"num('sum') == 2":                           {`num("sum") is 1, want 2`, `deployments.apps shop/web in dev1: num("sum") is 1, want 2`},
		"2 <= num('sum')":                           {`num("sum") is 1, want >= 2`, `num("sum") is 1, want >= 2`},
		"num('sum') > size(destinations) + 1":       {`num("sum") is 1, want > size(destinations) + 1, that is 2`, `want > size(destinations) + 1, that is 2`},
		"num('sum') > 0 && obj.gone":                {`num("sum") is 1, want > 0; obj.gone: no such key: gone`, "obj.gone: no such key: gone"},
		"num('n') > 0":                              {`num("n") > 0: no collector has a column n, only sum`, `num("n") > 0: no collector has a column n, only sum`},
		"cell('agg', 'n') > 0":                      {`cell("agg", "n") > 0: collector agg has no column n, only sum`, "collector agg has no column n"},
		"reported > 1":                              {"reported > 1: it is not known which clusters reported", "reported > 1: it is not known which clusters reported"},
		"num('sum') > 1 || num('sum') == 0":         {`saw agg: sum = 1; wants num("sum") > 1, num("sum") == 0`, "in dev1: saw agg: sum = 1"},
		"cell('agg', 'sum') + 1 == 2 && 1 == 2 - 1": {`cell("agg", "sum") + 1 is 2, want 2; 2 - 1 is 1, want 1`, `stage "prod" is the last`},
	} {
		w := newWorld(t, twoStages("    condition: "+condition+"\n"))
		w.available["dev1"] = 1
		w.decide()
		var texts []string
		status, seen := w.status, w.observe()
		for _, line := range bindingpolicy.Explain(w.policy, status, seen, w.now) {
			if line.Object.Name != "" {
				texts = append(texts, line.Text)
			}
		}
		require.Equal(t, want[0], strings.Join(texts, "; "), condition)
		if w.settle(); w.status.ActiveStage == "dev" {
			require.Contains(t, w.last.Message, want[1], condition)
		}
	}
}
