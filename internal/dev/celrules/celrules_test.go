package celrules

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	kustomize "github.com/fluxcd/pkg/apis/kustomize"
	fluxcel "github.com/fluxcd/pkg/runtime/cel"
	krocel "github.com/kubernetes-sigs/kro/pkg/cel"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/celrule"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// specs are for all kinds, so that each is evaluated on each object: on many of them fields are
// missing.
func specs(t *testing.T) []celrule.Spec {
	data, err := os.ReadFile("testdata/rules.yaml")
	require.NoError(t, err)
	var file struct{ Rules []celrule.Spec }
	require.NoError(t, yaml.UnmarshalStrict(data, &file))
	return file.Rules
}

// objects are the objects of the conformance data, and copies of each without one field of its
// status.
func objects(t *testing.T) (all []*unstructured.Unstructured) {
	files, err := filepath.Glob("../../../../shared/conformance/health/*.json")
	require.NoError(t, err)
	if len(files) == 0 {
		files = []string{"testdata/objects.json"}
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var cases []struct{ Manifest string }
		require.NoError(t, json.Unmarshal(data, &cases))
		for _, c := range cases {
			if obj := parse(c.Manifest); obj != nil {
				all = append(append(all, obj), withoutOneField(obj)...)
			}
		}
	}
	return all
}

// parse returns an object as an API server sends it, with whole numbers. It returns nil for a text
// that is not an object.
func parse(manifest string) *unstructured.Unstructured {
	data, err := yaml.YAMLToJSON([]byte(manifest))
	obj := &unstructured.Unstructured{}
	if err != nil || obj.UnmarshalJSON(data) != nil {
		return nil
	}
	obj.SetName("it") // a server sends no object without metadata, on which Flux's evaluation fails
	return obj
}

func withoutOneField(obj *unstructured.Unstructured) (all []*unstructured.Unstructured) {
	status, _ := obj.Object["status"].(map[string]any)
	for name := range status {
		less := obj.DeepCopy()
		unstructured.RemoveNestedField(less.Object, "status", name)
		all = append(all, less)
	}
	return all
}

// verdict is the verdict of a Spec, or false if a general rule of kstatus has decided.
func verdict(profile, general *kstatus.Rules, obj *unstructured.Unstructured) (kstatus.Result, bool) {
	if general.Compute(obj, now).Reason != "Reached" {
		return kstatus.Result{}, false
	}
	return profile.Compute(obj, now), true
}

func with(t *testing.T, base *kstatus.Rules, spec celrule.Spec) (profile, general *kstatus.Rules) {
	rules, err := celrule.Compile(spec)
	require.NoError(t, err)
	reached := func(kstatus.Object) (kstatus.Result, bool) { return kstatus.Current.Because("Reached", ""), true }
	return base.With(rules), base.With(map[schema.GroupKind]kstatus.Rule{{Group: "*", Kind: "*"}: reached})
}

// A tally counts the comparisons.
type tally struct{ equal, failed, waits int }

// TestFlux evaluates exported Specs with the health checks of Flux. If Flux reports an error and
// therefore continues to wait, our verdict must be InProgress.
func TestFlux(t *testing.T) {
	all := objects(t)
	for i, spec := range specs(t) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			profile, general := with(t, kstatus.Standard(), spec)
			spec.Group = "example.com"
			check, err := spec.Flux("v1")
			require.NoError(t, err)
			flux, err := fluxcel.NewStatusEvaluator(&kustomize.HealthCheckExpressions{InProgress: check.InProgress, Failed: check.Failed, Current: check.Current})
			require.NoError(t, err)
			back, err := check.Spec()
			require.NoError(t, err)
			back.Group = "*"
			again, _ := with(t, kstatus.Standard(), back)
			var n tally
			for _, obj := range all {
				want, decided := verdict(profile, general, obj)
				if !decided {
					continue
				}
				require.Equal(t, want.Status, again.Compute(obj, now).Status, "read again: %v", check)
				got, err := flux.Evaluate(context.Background(), obj)
				if err != nil {
					require.Equal(t, kstatus.InProgress, want.Status, "%v\n%v", err, obj)
					require.NotContains(t, obj.Object, "status", "%v: only a missing status is not guarded", err)
					n.failed++
					continue
				}
				require.Equal(t, string(want.Status), string(got.Status), "%s\n%v\n%v", want, check, obj)
				n.equal++
			}
			t.Logf("%d equal, %d errors of Flux for objects without a status", n.equal, n.failed)
			require.Greater(t, n.equal, 10)
		})
	}
}

// TestKro evaluates exported Specs in the environment of kro: the resource is ready if and only if
// it is Current.
func TestKro(t *testing.T) {
	all := objects(t)
	for i, spec := range specs(t) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			profile, general := with(t, kstatus.Extended(), spec)
			ready, err := spec.Kro("it")
			require.NoError(t, err)
			expressions := compileKro(t, ready)
			var n tally
			for _, obj := range all {
				want, decided := verdict(profile, general, obj)
				if !decided {
					continue
				}
				require.Equal(t, want.Status == kstatus.Current, isReady(t, expressions, obj), "%s\n%v\n%v", want, ready, obj)
				if n.equal++; want.Status != kstatus.Current {
					n.waits++
				}
			}
			t.Logf("%d equal, of which %d not ready", n.equal, n.waits)
			require.Greater(t, n.equal, 10)
		})
	}
}

// compileKro compiles readyWhen expressions as kro's builder does if it does not know the schema.
func compileKro(t *testing.T, ready []string) (all []*krocel.Expression) {
	env, err := krocel.DefaultEnvironment(krocel.WithResourceIDs([]string{"it"}))
	require.NoError(t, err)
	for _, source := range ready {
		require.True(t, strings.HasPrefix(source, "${") && strings.HasSuffix(source, "}"), source)
		source = source[2 : len(source)-1]
		ast, issues := env.Compile(source)
		require.NoError(t, issues.Err(), source)
		program, err := env.Program(ast)
		require.NoError(t, err)
		all = append(all, &krocel.Expression{Original: source, References: []string{"it"}, Program: program})
	}
	return all
}

func isReady(t *testing.T, expressions []*krocel.Expression, obj *unstructured.Unstructured) bool {
	for _, e := range expressions {
		v, err := e.Eval(map[string]any{"it": obj.Object})
		require.NoError(t, err, obj)
		if v != true {
			return false
		}
	}
	return true
}
