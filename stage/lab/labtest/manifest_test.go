package labtest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

const typos = `apiVersion: v1
kind: ConfigMap
metadata:
  name: first
  lables: {a: b}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replica: 3
  selector: {matchLabels: {a: b}}
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers:
      - name: c
        image: i
        prots: []
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: Yg==}, typ: Opaque}
- {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}], priority: high}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: last}
`

// TestTyposAreRefused checks that Apply names all faults of all objects with their lines, and applies
// the other objects.
func TestTyposAreRefused(t *testing.T) {
	var lab *labtest.Lab
	said := failure(t, labtest.Options{}, func(l *labtest.Lab) {
		lab = l
		l.Apply(typos)
	})
	for _, want := range []string{
		`manifest:5:3: ConfigMap first: unknown field "metadata.lables"`,
		`manifest:11:3: Deployment web: unknown field "spec.replica"`,
		`manifest:20:9: Deployment web: unknown field "spec.template.spec.containers[0].prots"`,
		`manifest:13:3: spec.selector: the key is given twice`,
		`manifest:25:72: Secret s: unknown field "typ"`,
		`manifest:26:94: Pod p: json: cannot unmarshal string into Go struct field PodSpec.spec.priority of type int32`,
	} {
		require.Contains(t, said, want)
	}
	require.Equal(t, 6, strings.Count(said, "manifest:"), said)
	lab.Get("v1", "ConfigMap", "last")
	require.Empty(t, lab.List("v1", "Secret", ""))
	require.Empty(t, lab.List("apps/v1", "Deployment", ""))
}

const ovens = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ovens.x.io}, spec: {group: x.io, scope: Namespaced,
  names: {plural: ovens, kind: Oven}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {
  spec: {type: object, properties: {degrees: {type: integer}}}}}}}]}}
---
`

// TestTyposOfCustomKindsAreRefused also checks a definition itself, and that the manifest may have the
// definition before its objects.
func TestTyposOfCustomKindsAreRefused(t *testing.T) {
	said := failure(t, labtest.Options{}, func(l *labtest.Lab) {
		l.Apply(ovens + "apiVersion: x.io/v1\nkind: Oven\nmetadata: {name: a, lables: {}}\nspec: {degrees: 200, color: red}\n")
	})
	require.Contains(t, said, `manifest:8:22: Oven a: unknown field "spec.color"`)
	require.Contains(t, said, `manifest:7:21: Oven a: unknown field "metadata.lables"`)
	said = failure(t, labtest.Options{}, func(l *labtest.Lab) {
		l.Apply(strings.Replace(ovens, "storage: true", "storage: true, stored: true", 1))
	})
	require.Contains(t, said, `CustomResourceDefinition ovens.x.io: unknown field "spec.versions[0].stored"`)
}

func TestTyposOfObjectsAreRefused(t *testing.T) {
	web := object("v1", "ConfigMap", "web")
	web.Object["dat"] = map[string]any{}
	for _, given := range []any{web, &unstructured.UnstructuredList{Items: []unstructured.Unstructured{*web}}} {
		said := failure(t, labtest.Options{}, func(l *labtest.Lab) { l.Apply(given) })
		require.Contains(t, said, `labtest: ConfigMap web: unknown field "dat"`)
	}
	labtest.New(t, labtest.Options{}).Apply(&appsv1.DeploymentList{Items: []appsv1.Deployment{}}, &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: "m"}})
}

// TestALenientLabLogsTypos checks labs that are made new and from a Base.
func TestALenientLabLogsTypos(t *testing.T) {
	spy := &logT{TB: t}
	o := labtest.Options{Lenient: true}
	for _, lab := range []*labtest.Lab{labtest.New(spy, o), labtest.Prepare(t, o).New(spy)} {
		spy.logged = ""
		lab.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, dat: {}}")
		lab.Get("v1", "ConfigMap", "m")
		require.Contains(t, spy.logged, `manifest:1:56: ConfigMap m: unknown field "dat"`)
	}
}

// TestObjectsAreThereBeforeEverything checks the order, that WaitCurrent ignores them, and that labs of
// a Base have them.
func TestObjectsAreThereBeforeEverything(t *testing.T) {
	o := labtest.Options{Objects: []any{"{apiVersion: v1, kind: Namespace, metadata: {name: dns}}", object("v1", "ConfigMap", "settings"),
		"{apiVersion: v1, kind: Pod, metadata: {name: stuck, namespace: dns}, spec: {nodeSelector: {no: node}, containers: [{name: c, image: i}]}}"}}
	for _, lab := range []*labtest.Lab{labtest.New(t, o), labtest.Prepare(t, o).New(t)} {
		require.Equal(t, lab.Now(), lab.Get("v1", "ConfigMap", "settings").GetCreationTimestamp().UTC())
		require.Empty(t, lab.Applied())
		lab.WaitCurrent()
		lab.Get("v1", "Pod", "dns/stuck")
	}
	o.Objects = []any{"{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, dat: {}}"}
	require.Contains(t, failure(t, o, func(*labtest.Lab) {}), `Options.Objects: manifest:1:56: ConfigMap m: unknown field "dat"`)
}
