package hunt_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// BenchmarkRuns makes hunts of 100 runs with one worker: ns/op and allocs/op are those of 100 runs,
// and of a few twins. A run has some twenty requests. In later runs, controllers may have hundreds: a
// view that lags for a minute has them repeatedly make what is collected.
func BenchmarkRuns(b *testing.B) {
	for _, c := range benchmarks() {
		b.Run(c.name, func(b *testing.B) {
			c.options.Workers = 1
			b.ReportAllocs()
			for b.Loop() {
				report, err := hunt.Search(c.options, c.start)
				require.NoError(b, err)
				require.Empty(b, report.Failures)
			}
			b.ReportMetric(100*float64(b.N)/b.Elapsed().Seconds(), "runs/s")
		})
	}
}

type benchmark struct {
	name        string
	options     hunt.Options
	start       func(*hunt.Run)
	allocations float64 // a run has fewer
}

func benchmarks() []benchmark {
	withPods := mutantOptions(100)
	withPods.Lab = labtest.Options{Kinds: []memory.Kind{{GroupVersionKind: stores, Status: true}}}
	withSchema := withPods
	withSchema.Lab = labtest.Options{Definitions: []*unstructured.Unstructured{definitionOfStores()}}
	return []benchmark{
		{"without workloads", mutantOptions(100), staleDeletion(false), 4_000},
		{"with a Deployment", withPods, runsDeployment, 13_000},
		{"with a Deployment and a schema", withSchema, runsDeployment, 14_000},
	}
}

// definitionOfStores returns a definition with a default and a rule in CEL.
func definitionOfStores() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	text, err := yaml.YAMLToJSON([]byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: stores.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: stores, kind: Store}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              image: {type: string, default: a:1}
              replicas: {type: integer, minimum: 1, default: 1}
            x-kubernetes-validations: [{rule: self.replicas < 100 && self.image.size() < 200}]
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`))
	if err == nil {
		err = u.UnmarshalJSON(text)
	}
	if err != nil {
		panic(err)
	}
	return u
}

var deployments = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}

// runsDeployment is a controller that makes some twenty requests: a Deployment, ConfigMaps and a
// status.
func runsDeployment(r *hunt.Run) {
	forStore(r, "operator", owns(deployments, configMaps), func(c client, s *object, _ string) error {
		if isDeleted(s) {
			return nil
		}
		for _, name := range []string{"a-one", "a-two", "a-three", "a-four"} {
			have, err := c.get(configMaps, name)
			if err == nil && have == nil {
				err = c.ensure(child(configMaps, s, name))
			}
			if err != nil {
				return err
			}
		}
		d, err := c.get(deployments, s.GetName())
		switch {
		case err != nil:
			return err
		case d == nil:
			d = child(deployments, s, s.GetName())
			d.Object["spec"] = map[string]any{
				"replicas": int64(2), "selector": map[string]any{"matchLabels": map[string]any{"app": "a"}},
				"template": map[string]any{
					"metadata": map[string]any{"labels": map[string]any{"app": "a"}},
					"spec":     map[string]any{"containers": []any{map[string]any{"name": "a", "image": text(s, "spec", "image")}}},
				},
			}
			return c.ensure(d)
		case number(d, "status", "availableReplicas") == number(s, "status", "ready"):
			return nil
		}
		set(s, number(d, "status", "availableReplicas"), "status", "ready")
		return c.updateStatus(s)
	})
	r.Apply(store("{image: one}"))
	r.At(10*time.Minute, "note", func(u *hunt.User) error { return u.Patch(stores, "default/a", `{"spec":{"image":"two"}}`) })
}
