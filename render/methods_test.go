package render

import (
	"flag"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var updateMethods = flag.Bool("update-methods", false, "write examples/stagecraft/packaging/methods.txt again")

// TestMethodsOfTemplates: a template can call the methods of what functions return, such as a time. The binaries of
// examples/stagecraft/packaging have the methods that are listed there, and no others of types that
// nothing else calls: the list must have all that a template can reach.
func TestMethodsOfTemplates(t *testing.T) {
	const file = "../examples/stagecraft/packaging/methods.txt"
	reached := map[reflect.Type]bool{}
	methods := map[string]bool{}
	for _, fn := range functionsOfTemplates() {
		for out := range reflect.TypeOf(fn).Outs() {
			reach(out, reached, methods)
		}
	}
	want := strings.Join(slices.Sorted(maps.Keys(methods)), "\n") + "\n"
	if *updateMethods {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
	}
	have, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		t.Skip("the command is not here: this is the module alone")
	}
	require.NoError(t, err)
	require.Equal(t, want, string(have), "go test ./render -run TestMethodsOfTemplates -update-methods writes it")
	require.True(t, methods["Format"] && methods["IncPatch"] && methods["String"])
}

// functionsOfTemplates are all functions that a template can call without Options.Funcs.
func functionsOfTemplates() (all []any) {
	s := &state{}
	for _, fn := range own {
		all = append(all, fn(s))
	}
	for _, fn := range seeded {
		all = append(all, fn(s))
	}
	return slices.AppendSeq(all, maps.Values(pure()))
}

// reach collects the methods of a type, of its fields, of its elements, and of what they return.
func reach(typ reflect.Type, reached map[reflect.Type]bool, methods map[string]bool) {
	if reached[typ] {
		return
	}
	reached[typ] = true
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map, reflect.Chan:
		reach(typ.Elem(), reached, methods)
	case reflect.Struct:
		for field := range typ.Fields() {
			if field.IsExported() {
				reach(field.Type, reached, methods)
			}
		}
	case reflect.Interface:
		return // what is in it comes from the object, or from a function
	}
	pointer := typ
	if typ.Kind() != reflect.Pointer {
		pointer = reflect.PointerTo(typ)
	}
	for method := range pointer.Methods() {
		methods[method.Name] = true
		for out := range method.Type.Outs() {
			reach(out, reached, methods)
		}
	}
}
