package staged_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// printed is the condition of the workload stager's document.
const printed = `obj.results.exists(r, r.name == 'agg' && r.rows.exists(row, row.columns.exists(col, col.type == 'Number' && col.float == '1')))`

var printedInput = map[string]any{"obj": map[string]any{"results": []any{map[string]any{"name": "agg", "columnNames": []any{"sum"},
	"rows": []any{map[string]any{"columns": []any{map[string]any{"type": "Number", "float": "1"}}}}}}}}

// BenchmarkConditionCompiledOnceAgainstEachTime compares an evaluation of a compiled condition with
// what the workload stager does: compiling with cel-go, in an environment that is made once, at
// every evaluation. Rounds alternate, so that a busy machine slows both; the median ratio must be
// at least 100.
func BenchmarkConditionCompiledOnceAgainstEachTime(b *testing.B) {
	env, err := cel.NewEnv(cel.Variable("obj", cel.DynType))
	require.NoError(b, err)
	each := func() (bool, error) {
		checked, issues := env.Compile(printed)
		if issues.Err() != nil {
			return false, issues.Err()
		}
		program, err := env.Program(checked)
		if err != nil {
			return false, err
		}
		v, _, err := program.Eval(printedInput)
		return v.Value() == true, err
	}
	compiled, err := staged.CompileCondition(printed)
	require.NoError(b, err)
	once := func() (bool, error) { return compiled.Eval(printedInput) }
	var ratios []float64
	for b.Loop() {
		ratios = ratios[:0]
		for range 9 {
			ratios = append(ratios, float64(took(b, 100, each))/float64(took(b, 10_000, once))*100)
		}
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[4], "times")
	b.ReportMetric(ratios[0], "times-least")
	require.Greater(b, ratios[4], 100.0)
}

// took is how long something takes that is done n times and is true.
func took(b *testing.B, n int, do func() (bool, error)) time.Duration {
	begin := time.Now()
	for range n {
		if ok, err := do(); err != nil || !ok {
			b.Fatal(ok, err)
		}
	}
	return time.Since(begin)
}

func BenchmarkCondition(b *testing.B) {
	input := printedInput
	b.Run("compiled once", func(b *testing.B) {
		e, err := staged.CompileCondition(printed)
		require.NoError(b, err)
		b.ReportAllocs()
		for b.Loop() {
			if ok, err := e.Eval(input); err != nil || !ok {
				b.Fatal(ok, err)
			}
		}
	})
	b.Run("compiled at every evaluation", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e, err := staged.CompileCondition(printed)
			if err != nil {
				b.Fatal(err)
			}
			if ok, err := e.Eval(input); err != nil || !ok {
				b.Fatal(ok, err)
			}
		}
	})
}

// large is a rollout of objects over clusters, all of them satisfied but the first.
func large(tb testing.TB, objects, clusters int) (r *bindingpolicy.Rollout, status v1alpha1.Status, change func(value string)) {
	p := compile(tb, policyHead+"  stages: [{name: dev, clusterSelectors: [{}], condition: \""+printed+"\"}, {name: prod}]\n")
	r = bindingpolicy.NewRollout(p)
	r.Update(p, metav1.ObjectMeta{Name: "s", UID: "sbp"})
	owner := metav1.OwnerReference{Kind: v1alpha1.Kind, Name: "s", UID: "sbp"}
	dev := r.Decide(v1alpha1.Status{}, start).Ensure[0]
	dev.UID, dev.OwnerReferences, dev.Annotations = "p", []metav1.OwnerReference{owner}, nil
	r.ObserveBindingPolicy(dev)
	binding := &control.Binding{ObjectMeta: metav1.ObjectMeta{Name: "s.stage.dev", OwnerReferences: []metav1.OwnerReference{{UID: "p"}}}}
	var reports []fleet.ClusterReport
	for i := range clusters {
		name := fmt.Sprintf("c%03d", i)
		binding.Spec.Destinations = append(binding.Spec.Destinations, control.Destination{ClusterID: name})
		reports = append(reports, fleet.ClusterReport{Cluster: name, Reported: true, LastReturned: start, BoundAt: start})
	}
	for i := range objects {
		name := fmt.Sprintf("o%04d", i)
		binding.Spec.Workload.NamespaceScope = append(binding.Spec.Workload.NamespaceScope, control.DownsyncClause{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop", Name: name})
		r.ObserveReport(bindingpolicy.Report{BindingPolicy: "s.stage.dev", Object: fleet.ObjectRef{Group: "apps", Resource: "deployments", Namespace: "shop", Name: name}, Clusters: reports})
		if i > 0 {
			r.ObserveStatus(cells(name, "1"))
		}
	}
	r.ObserveBinding(binding)
	change = func(value string) { r.ObserveStatus(cells("o0000", value)) }
	change("0")
	return r, r.Decide(v1alpha1.Status{}, start).Status, change
}

// cells is a CombinedStatus with one cell.
func cells(name, value string) *control.CombinedStatus {
	s := &control.CombinedStatus{ObjectMeta: metav1.ObjectMeta{Name: name + ".p", Labels: map[string]string{}}}
	for key, v := range map[string]string{"binding-policy": "s.stage.dev", "api-group": "apps", "resource": "deployments", "namespace": "shop", "name": name} {
		s.Labels["status.kubestellar.io/"+key] = v
	}
	s.Results = []control.NamedStatusCombination{{Name: "agg", ColumnNames: []string{"sum"},
		Rows: []control.StatusCombinationRow{{Columns: []control.Value{{Type: "Number", Number: &value}}}}}}
	return s
}

func TestLargeRollout(t *testing.T) {
	r, status, change := large(t, 100, 10)
	require.Equal(t, v1alpha1.Counts{Objects: 100, Satisfied: 99, Destinations: 10}, status.Stages[0].Counts)
	change("1")
	require.Equal(t, "prod", r.Decide(status, start).Status.ActiveStage)
}

// One status of a thousand objects on a hundred clusters changes, while all clusters report or
// none.
func BenchmarkDecide(b *testing.B) {
	for _, objects := range []int{10, 1000} {
		for _, silent := range []bool{false, true} {
			b.Run(fmt.Sprintf("one status of %d objects on 100 clusters, silent %v", objects, silent), func(b *testing.B) {
				r, status, change := large(b, objects, 100)
				for i := 0; silent && i < objects; i++ {
					object := fleet.ObjectRef{Group: "apps", Resource: "deployments", Namespace: "shop", Name: fmt.Sprintf("o%04d", i)}
					r.ObserveReport(bindingpolicy.Report{BindingPolicy: "s.stage.dev", Object: object})
				}
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					change([]string{"0", "2"}[i%2])
					status = r.Decide(status, start).Status
				}
			})
		}
	}
}

// Batches of many clusters, once they are divided.
func BenchmarkDecideBatches(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprintf("%d clusters", n), func(b *testing.B) {
			r := bindingpolicy.NewRollout(compile(b, policyHead+"  stages: [{name: dev, clusterSelectors: [{}], condition: 'true', maxConcurrency: 1}]\n"))
			clusters := map[string]map[string]string{}
			for i := range n {
				name := fmt.Sprintf("c%04d", i)
				clusters[name] = map[string]string{"name": name}
			}
			r.ObserveClusters(clusters)
			status := r.Decide(v1alpha1.Status{}, start).Status
			require.Len(b, status.Stages[0].Batches, n)
			b.ReportAllocs()
			for b.Loop() {
				status = r.Decide(status, start).Status
			}
		})
	}
}
