package position

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Decode puts the document into a struct with JSON tags and returns every fault on the way: unknown
// fields (warnings) and values of the wrong type, each with its path. Fields whose value is at
// fault keep their zero value. Unlike encoding/json it does not stop at the first fault, and it
// distinguishes a field in the wrong case from an unknown field.
func (d *Document) Decode(into any) []*Error {
	var dec decoder
	dec.value("", d.Value, reflect.ValueOf(into).Elem())
	slices.SortStableFunc(dec.faults, func(a, b *Error) int { return strings.Compare(a.Path, b.Path) })
	return append(d.Duplicates(), dec.faults...)
}

type decoder struct{ faults []*Error }

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// value decodes v into dst by the type of dst. Null leaves the zero value.
func (d *decoder) value(path string, v any, dst reflect.Value) {
	switch {
	case v == nil:
	case dst.Addr().Type().Implements(unmarshaler):
		d.custom(path, v, dst)
	case dst.Kind() == reflect.Pointer:
		dst.Set(reflect.New(dst.Type().Elem()))
		d.value(path, v, dst.Elem())
	case dst.Kind() == reflect.Struct:
		d.object(path, v, dst)
	case dst.Kind() == reflect.Map:
		d.mapping(path, v, dst)
	case dst.Kind() == reflect.Slice:
		d.list(path, v, dst)
	default:
		d.scalar(path, v, dst)
	}
}

func (d *decoder) custom(path string, v any, dst reflect.Value) {
	raw, err := json.Marshal(v)
	if err == nil {
		err = dst.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(raw)
	}
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mismatch):
		d.fault(path, fmt.Errorf("want %s, got %s", nameOf(mismatch.Type), describe(v)))
	case err != nil:
		d.fault(path, err)
	}
}

// nameOf returns the JSON name of a type.
func nameOf(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.String:
		return "a string"
	case reflect.Zero(t).CanInt():
		return "an integer"
	}
	return t.String()
}

func (d *decoder) object(path string, v any, dst reflect.Value) {
	m, ok := v.(map[string]any)
	if !ok {
		d.wrongType(path, "an object", v)
		return
	}
	fields := map[string]reflect.Value{}
	collect(dst, fields)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		field, known := fields[name]
		if !known {
			field, known = d.unknown(path, name, m, fields)
		}
		if known {
			d.value(Field(path, name), m[name], field)
		}
	}
}

// unknown reports a field of m that the type does not have. A field that differs only in case is
// still decoded, as in encoding/json, unless m also has the right field.
func (d *decoder) unknown(path, name string, m map[string]any, fields map[string]reflect.Value) (reflect.Value, bool) {
	err := errors.New("unknown field")
	var found reflect.Value
	if meant := meantField(name, m[name], fields); meant != "" {
		err = fmt.Errorf("%w; did you mean %q?", err, meant)
		if _, both := m[meant]; !both && strings.EqualFold(meant, name) {
			found = fields[meant]
		}
	}
	d.faults = append(d.faults, &Error{Path: Field(path, name), Offset: AtKey, Warning: true, Err: err})
	return found, found.IsValid()
}

// meantField returns the known field that an unknown field probably means; "" without one. If
// several fields begin with the name, the kind of the value decides.
func meantField(name string, value any, fields map[string]reflect.Value) string {
	names := slices.Sorted(maps.Keys(fields))
	near := Nearest(name, names)
	if len(name) < shortestPrefix || strings.EqualFold(near, name) {
		return near
	}
	longer := slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(strings.ToLower(n), strings.ToLower(name)) })
	if len(longer) == 0 {
		return near
	}
	_, isObject := value.(map[string]any)
	fits := func(n string) bool { return isObject == isStruct(fields[n].Type()) }
	return longer[max(0, slices.IndexFunc(longer, fits))]
}

// shortestPrefix is the number of letters that are enough to recognize a name.
const shortestPrefix = 4

func isStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct || t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct
}

// collect lists the fields of a struct by JSON name, including the fields of inlined structs.
func collect(v reflect.Value, fields map[string]reflect.Value) {
	for f, field := range v.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			collect(field, fields)
		case f.IsExported() && name != "-":
			fields[name] = field
		}
	}
}

func (d *decoder) mapping(path string, v any, dst reflect.Value) {
	m, ok := v.(map[string]any)
	if !ok {
		d.wrongType(path, "an object", v)
		return
	}
	dst.Set(reflect.MakeMapWithSize(dst.Type(), len(m)))
	for key, item := range m {
		to := reflect.New(dst.Type().Elem()).Elem()
		d.value(Field(path, key), item, to)
		dst.SetMapIndex(reflect.ValueOf(key).Convert(dst.Type().Key()), to)
	}
}

func (d *decoder) list(path string, v any, dst reflect.Value) {
	items, ok := v.([]any)
	if !ok {
		d.wrongType(path, "a list", v)
		return
	}
	dst.Set(reflect.MakeSlice(dst.Type(), len(items), len(items)))
	for i, item := range items {
		d.value(Index(path, i), item, dst.Index(i))
	}
}

func (d *decoder) scalar(path string, v any, dst reflect.Value) {
	switch {
	case dst.Kind() == reflect.Interface:
		dst.Set(reflect.ValueOf(v))
	case dst.Kind() == reflect.String:
		if s, ok := v.(string); ok {
			dst.SetString(s)
			return
		}
		d.wrongType(path, "a string", v)
	case dst.Kind() == reflect.Bool:
		if b, ok := v.(bool); ok {
			dst.SetBool(b)
			return
		}
		d.wrongType(path, "true or false", v)
	case dst.CanInt():
		if n, ok := v.(int64); ok && !dst.OverflowInt(n) {
			dst.SetInt(n)
			return
		}
		d.wrongType(path, "an integer", v)
	default:
		d.wrongType(path, dst.Type().String(), v)
	}
}

func (d *decoder) fault(path string, err error) {
	d.faults = append(d.faults, &Error{Path: path, Offset: -1, Err: err})
}

func (d *decoder) wrongType(path, want string, v any) {
	advice := ""
	if want == "a string" {
		advice = "; quote it"
	}
	if text, ok := v.(string); ok && helmDirective.MatchString(text) {
		advice = "; " + renderFirst
	}
	d.fault(path, fmt.Errorf("want %s, got %s%s", want, describe(v), advice))
}

// describe names a JSON value for an error message.
func describe(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return fmt.Sprintf("the string %.40q", v)
	case bool:
		return fmt.Sprintf("the boolean %v", v)
	default:
		return fmt.Sprintf("the number %v", v)
	}
}
