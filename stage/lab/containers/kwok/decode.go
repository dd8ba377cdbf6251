package kwok

import (
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
)

// A Fault is one thing that is wrong in a file.
type Fault struct {
	Name         string // of the file
	Line, Column int    // from 1
	Path         string // of the field, such as spec.logs[0].file; "" for the whole object
	Reason       string
}

// Error prints "file:line:column: path: reason".
func (f *Fault) Error() string {
	s := fmt.Sprintf("%s:%d:%d: ", f.Name, f.Line, f.Column)
	if f.Path != "" {
		s += f.Path + ": "
	}
	return s + f.Reason
}

// A decoder reads YAML nodes into Go values, and collects what is wrong.
type decoder struct {
	name   string
	faults []error
}

// maxFaults is how many faults are kept.
const maxFaults = 100

func (d *decoder) fault(n *yaml.Node, path, format string, args ...any) {
	if len(d.faults) < maxFaults {
		d.faults = append(d.faults, &Fault{d.name, n.Line, n.Column, path, fmt.Sprintf(format, args...)})
	}
}

var quantityType = reflect.TypeFor[resource.Quantity]()

// decode reads a node into a settable value.
func (d *decoder) decode(n *yaml.Node, to reflect.Value, path string) {
	if n.Kind == yaml.AliasNode {
		d.fault(n, path, "an alias: write the value")
		return
	}
	if n.Tag == "!!null" {
		return
	}
	switch {
	case to.Type() == quantityType:
		d.quantity(n, to, path)
		return
	case to.Kind() == reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		d.decode(n, to.Elem(), path)
		return
	}
	switch to.Kind() {
	case reflect.Struct:
		d.object(n, to, path)
	case reflect.Map:
		d.mapping(n, to, path)
	case reflect.Slice:
		d.list(n, to, path)
	case reflect.Interface:
	default:
		d.scalar(n, to, path)
	}
}

func (d *decoder) quantity(n *yaml.Node, to reflect.Value, path string) {
	q, err := resource.ParseQuantity(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil {
		d.fault(n, path, "%q is not a quantity, such as 250m or 64Mi", n.Value)
		return
	}
	to.Set(reflect.ValueOf(q))
}

// kindNames are the names of nodes in messages.
var kindNames = map[yaml.Kind]string{yaml.MappingNode: "an object", yaml.SequenceNode: "a list", yaml.ScalarNode: "a value"}

// is reports whether a node has a kind, and records a fault otherwise.
func (d *decoder) is(n *yaml.Node, kind yaml.Kind, path string) bool {
	if n.Kind != kind {
		d.fault(n, path, "want %s, got %s", kindNames[kind], kindNames[n.Kind])
	}
	return n.Kind == kind
}

// pairs calls f with the keys of an object, each once.
func (d *decoder) pairs(n *yaml.Node, path string, f func(key, value *yaml.Node, path string)) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := strings.TrimPrefix(path+"."+key.Value, ".")
		if seen[key.Value] {
			d.fault(key, at, "the field is there twice")
			continue
		}
		seen[key.Value] = true
		f(key, value, at)
	}
}

func (d *decoder) object(n *yaml.Node, to reflect.Value, path string) {
	if !d.is(n, yaml.MappingNode, path) {
		return
	}
	d.pairs(n, path, func(key, value *yaml.Node, at string) {
		for i := range to.NumField() {
			if name := to.Type().Field(i).Tag.Get("json"); name != "" && name == key.Value {
				d.decode(value, to.Field(i), at)
				return
			}
		}
		d.fault(key, at, "unknown field")
	})
}

func (d *decoder) mapping(n *yaml.Node, to reflect.Value, path string) {
	if !d.is(n, yaml.MappingNode, path) {
		return
	}
	to.Set(reflect.MakeMap(to.Type()))
	d.pairs(n, path, func(key, value *yaml.Node, at string) {
		item := reflect.New(to.Type().Elem()).Elem()
		d.decode(value, item, at)
		to.SetMapIndex(reflect.ValueOf(key.Value), item)
	})
}

func (d *decoder) list(n *yaml.Node, to reflect.Value, path string) {
	if !d.is(n, yaml.SequenceNode, path) {
		return
	}
	to.Set(reflect.MakeSlice(to.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		d.decode(item, to.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
}

func (d *decoder) scalar(n *yaml.Node, to reflect.Value, path string) {
	if !d.is(n, yaml.ScalarNode, path) {
		return
	}
	want := map[reflect.Kind]string{reflect.String: "a string", reflect.Bool: "a boolean"}[to.Kind()]
	if want == "" {
		want = "a number"
	}
	if to.Kind() == reflect.String && n.Tag != "!!str" && n.Tag != "!!timestamp" {
		d.fault(n, path, "want %s, got %s", want, n.Value)
		return
	}
	if n.Tag == "!!timestamp" && to.Kind() == reflect.String {
		to.SetString(n.Value)
		return
	}
	if err := n.Decode(to.Addr().Interface()); err != nil {
		d.fault(n, path, "want %s, got %q", want, n.Value)
	}
}

// find returns the node at a path of keys and indexes, or the last one that is there.
func find(n *yaml.Node, path ...any) *yaml.Node {
	for _, step := range path {
		next := n
		switch step := step.(type) {
		case int:
			if step < len(n.Content) {
				next = n.Content[step]
			}
		case string:
			for i := 0; i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == step {
					next = n.Content[i+1]
				}
			}
		}
		n = next
	}
	return n
}
