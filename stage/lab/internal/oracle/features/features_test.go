package features

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/features"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// TestEveryFieldHasARow walks the Go types of the kinds in the table. A field has its own row, or a
// row above it, or its fields have rows.
func TestEveryFieldHasARow(t *testing.T) {
	for _, k := range features.Kinds() {
		paths := map[string]bool{}
		for _, row := range k.Rows {
			paths[row.Path] = true
		}
		if len(k.Rows) == 1 && paths[""] {
			continue
		}
		w := walk{rows: paths, met: map[string]bool{}}
		w.fields("", typeOf(t, k.GroupVersionKind))
		require.Empty(t, w.missing, "%s: fields without a row", k.Kind)
		for path := range paths {
			require.True(t, path == "" || w.met[path] || isOlder(path), "%s has no field %s", k.Kind, path)
		}
	}
}

// isOlder reports whether a row is for a field of a different minor version of Kubernetes.
func isOlder(path string) bool {
	return slices.Contains([]string{"spec.schedulingGroup", "spec.workloadRef", "spec.scheduling", "spec.jobTemplate.spec.scheduling", "spec.podPreemptionPolicy", "spec.preventPodSchedulingIfMissing"}, path)
}

// TestEveryKindHasRows checks that all kinds of a cluster in memory are in the table.
func TestEveryKindHasRows(t *testing.T) {
	known := map[schema.GroupVersionKind]bool{}
	for _, k := range features.Kinds() {
		require.False(t, known[k.GroupVersionKind], k.Kind)
		known[k.GroupVersionKind] = true
	}
	for _, k := range memory.New(memory.Options{}).Kinds() {
		require.True(t, known[k.GroupVersionKind], "%s has no rows", k.GroupVersionKind)
	}
}

func typeOf(t *testing.T, kind schema.GroupVersionKind) reflect.Type {
	switch kind.Kind {
	case "CustomResourceDefinition":
		return reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]()
	case "APIService":
		return reflect.TypeFor[apiregistrationv1.APIService]()
	}
	found := scheme.Scheme.KnownTypes(kind.GroupVersion())[kind.Kind]
	require.NotNil(t, found, kind)
	return found
}

// A walk goes through the fields of a type.
type walk struct {
	rows    map[string]bool
	met     map[string]bool // rows that are about a field
	missing []string
}

// fields walks the fields of a struct.
func (w *walk) fields(at string, of reflect.Type) {
	for i := range of.NumField() {
		f := of.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Name == "ObjectMeta" && at == "" || f.Name == "TypeMeta":
		case strings.Contains(options, "inline") || name == "" && f.Anonymous:
			w.fields(at, f.Type)
		default:
			w.field(at+name, f.Type)
		}
	}
}

// hasBelow reports whether there are rows for fields below one.
func (w *walk) hasBelow(path string) bool {
	return slices.ContainsFunc(keys(w.rows), func(row string) bool { return strings.HasPrefix(row, path+".") })
}

// field walks one field: it has a row, or its own fields have.
func (w *walk) field(path string, of reflect.Type) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if w.rows[path] {
		w.met[path] = true
		if w.hasBelow(path) && of.Kind() == reflect.Struct { // some of its fields have rows of their own
			(&walk{rows: w.rows, met: w.met}).fields(path+".", of)
		}
		return
	}
	if of.Kind() == reflect.Slice {
		of, path = of.Elem(), path+"[]"
	}
	hasMore := w.hasBelow(path)
	if of.Kind() != reflect.Struct || !hasMore {
		if path != "status" {
			w.missing = append(w.missing, path)
		}
		return
	}
	w.fields(path+".", of)
}

func keys(m map[string]bool) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	return all
}
