package patch

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stagecraft-go/stagecraft/internal/dev/bench/patch/builtin"
	"github.com/stagecraft-go/stagecraft/internal/patch"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

func TestTheTableSaysWhatTheStructTagsSay(t *testing.T) {
	kinds, err := builtin.Types()
	require.NoError(t, err)
	lists := 0
	for gvk, typ := range kinds {
		schema, ok := patch.SchemaFor(gvk.Group, gvk.Version, gvk.Kind)
		require.True(t, ok, gvk)
		lists += compare(t, gvk.Kind, typ, schema)
	}
	require.Greater(t, lists, 1000)
}

// compare walks a type as the reference sees it and returns the number of lists seen.
func compare(t *testing.T, at string, typ reflect.Type, schema patch.Schema) (lists int) {
	meta := strategicpatch.PatchMetaFromStruct{T: typ}
	for _, name := range fields(typ) {
		_, tags, err := meta.LookupPatchMetadataForStruct(name)
		require.NoError(t, err, at)
		field, _ := typ.FieldByNameFunc(func(n string) bool {
			f, _ := typ.FieldByName(n)
			return tag(f) == name
		})
		elem, isList := element(field.Type)
		if isList {
			lists++
			key, merges := schema.MergeKey(name)
			want := slices.Contains(tags.GetPatchStrategies(), "merge")
			require.Equal(t, want, merges, "%s.%s", at, name)
			require.Equal(t, tags.GetPatchMergeKey(), key, "%s.%s", at, name)
		}
		if elem.Kind() == reflect.Struct && elem != typ && strings.HasPrefix(elem.PkgPath(), "k8s.io/") && !strings.HasSuffix(elem.Name(), "Quantity") {
			lists += compare(t, at+"."+name, elem, schema.Field(name))
		}
	}
	return lists
}

func fields(typ reflect.Type) (names []string) {
	for i := range typ.NumField() {
		if name := tag(typ.Field(i)); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func tag(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return strings.TrimSuffix(name, "-")
}

func element(typ reflect.Type) (elem reflect.Type, list bool) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		list = list || typ.Kind() == reflect.Slice
		typ = typ.Elem()
	}
	return typ, list
}
