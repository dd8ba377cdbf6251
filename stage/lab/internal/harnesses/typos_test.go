package harnesses_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A failed is the T of a lab whose failure is an error.
type failed struct{ err error }

func (f *failed) Helper() {}

func (f *failed) Fatalf(format string, args ...any) {
	f.err = fmt.Errorf(format, args...)
	panic(f)
}

// appliers apply a manifest with one object as a user does, on a cluster with the definition of ovens.
var appliers = map[string]func(*testing.T, string) error{
	"lab": func(_ *testing.T, text string) error {
		f := &failed{}
		func() {
			defer func() { _ = recover() }()
			labtest.New(f, labtest.Options{}).Apply(definition, text)
		}()
		return f.err
	},
	"hunt": func(_ *testing.T, text string) error {
		_, err := hunt.Play(hunt.Options{}, func(r *hunt.Run) {
			r.Apply(definition)
			r.Apply(text)
		}, hunt.Plan{})
		return err
	},
	"server": func(t *testing.T, text string) error {
		client := dynamic.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{}))
		create := func(text, group, resource string) error {
			obj, gvr := object(t, text), schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}
			o := metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict} // as kubectl has it
			if group == definitions.Group {
				_, err := client.Resource(gvr).Create(t.Context(), obj, o)
				return err
			}
			_, err := client.Resource(gvr).Namespace("default").Create(t.Context(), obj, o)
			return err
		}
		require.NoError(t, create(definition, definitions.Group, definitions.Resource))
		kind := object(t, text).GroupVersionKind()
		return create(text, kind.Group, map[string]string{"Deployment": "deployments", "Oven": "ovens", "CustomResourceDefinition": definitions.Resource}[kind.Kind])
	},
}

var definitions = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}

// TestTyposAreRefused checks fields that a kind does not have: of a built-in kind, of a custom one, and of
// a definition.
func TestTyposAreRefused(t *testing.T) {
	for name, apply := range appliers {
		t.Run(name, func(t *testing.T) {
			for text, wants := range map[string][]string{
				`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default}, spec: {replica: 3, selector: {matchLabels: {a: b}},
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i, prots: []}]}}}}`: {
					`unknown field "spec.replica"`, `unknown field "spec.template.spec.containers[0].prots"`},
				`{apiVersion: x.io/v1, kind: Oven, metadata: {name: a, namespace: default, lables: {}}, spec: {degrees: 200, color: red}}`: {
					`unknown field "metadata.lables"`, `unknown field "spec.color"`},
				`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: pans.x.io}, spec: {group: x.io, scope: Namespaced, plural: pans,
  names: {plural: pans, kind: Pan}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`: {
					`unknown field "spec.plural"`},
			} {
				err := apply(t, text)
				require.Error(t, err)
				for _, want := range wants {
					require.ErrorContains(t, err, want)
				}
			}
		})
	}
}
