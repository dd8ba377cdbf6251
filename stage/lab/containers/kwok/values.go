package kwok

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers/internal/amount"
)

// valueOf returns a Go value as a value of an expression, by the rules of kwok: fields have the names
// of their JSON, and a field that is not set has the zero value.
func valueOf(v reflect.Value) ref.Val {
	switch native := v.Interface().(type) {
	case metav1.Time:
		return types.Timestamp{Time: native.Time}
	case metav1.Duration:
		return types.Duration{Duration: native.Duration}
	case resource.Quantity:
		return quantity(amount.Float(native))
	case corev1.ResourceList:
		return resources(native)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return valueOf(reflect.Zero(v.Type().Elem()))
		}
		return valueOf(v.Elem())
	case reflect.Struct:
		return &part{fields: v}
	case reflect.Slice:
		items := make([]ref.Val, v.Len())
		for i := range items {
			items[i] = valueOf(v.Index(i))
		}
		return types.NewRefValList(types.DefaultTypeAdapter, items)
	case reflect.Map:
		items := map[ref.Val]ref.Val{}
		for key, item := range v.Seq2() {
			items[types.String(key.String())] = valueOf(item)
		}
		return types.NewRefValMap(types.DefaultTypeAdapter, items)
	case reflect.String:
		return types.String(v.String())
	case reflect.Bool:
		return types.Bool(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return types.Int(v.Int())
	}
	return types.NewErr("a value of type %s is not supported", v.Type())
}

// A part is a struct of the Kubernetes API: a Node, a Pod, a container, or a part of one.
type part struct {
	fields reflect.Value
	of     *evaluation // of a Node, a Pod or a container; nil for parts
}

var partType = cel.ObjectType("kubernetes.Object", traits.IndexerType, traits.FieldTesterType)

// Get returns a field.
func (o *part) Get(name ref.Val) ref.Val {
	text, _ := name.Value().(string)
	index, known := fieldOf(o.fields.Type(), text)
	if !known {
		return types.NewErr("no such field: %s", text)
	}
	return valueOf(o.fields.FieldByIndex(index))
}

// IsSet reports whether a field has a value that is not zero.
func (o *part) IsSet(name ref.Val) ref.Val {
	text, _ := name.Value().(string)
	index, known := fieldOf(o.fields.Type(), text)
	return types.Bool(known && !o.fields.FieldByIndex(index).IsZero())
}

// Type implements [ref.Val].
func (o *part) Type() ref.Type { return partType }

// Equal implements [ref.Val].
func (o *part) Equal(other ref.Val) ref.Val {
	same, is := other.(*part)
	return types.Bool(is && reflect.DeepEqual(o.fields.Interface(), same.fields.Interface()))
}

// ConvertToNative implements [ref.Val].
func (o *part) ConvertToNative(to reflect.Type) (any, error) {
	return nil, fmt.Errorf("an object cannot be converted to %s", to)
}

// ConvertToType implements [ref.Val].
func (o *part) ConvertToType(to ref.Type) ref.Val {
	return types.NewErr("an object cannot be converted to %s", to.TypeName())
}

// Value implements [ref.Val].
func (o *part) Value() any { return o.fields.Interface() }

// fieldOf finds a field of a struct by its name in JSON.
func fieldOf(t reflect.Type, name string) (index []int, found bool) {
	for i := range t.NumField() {
		tag, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		switch {
		case tag == name && name != "":
			return []int{i}, true
		case tag == "" && strings.Contains(options, "inline"):
			if inner, found := fieldOf(t.Field(i).Type, name); found {
				return append([]int{i}, inner...), true
			}
		}
	}
	return nil, false
}

// resources are the amounts of a resource list. A resource that it does not have is 0.
type resources corev1.ResourceList

var resourcesType = cel.ObjectType("kubernetes.ResourceList", traits.IndexerType, traits.ContainerType, traits.SizerType)

// Get returns an amount.
func (r resources) Get(name ref.Val) ref.Val {
	text, _ := name.Value().(string)
	return quantity(amount.Float(r[corev1.ResourceName(text)]))
}

// Contains reports whether the list has a resource.
func (r resources) Contains(name ref.Val) ref.Val {
	text, _ := name.Value().(string)
	_, has := r[corev1.ResourceName(text)]
	return types.Bool(has)
}

// Size returns the number of resources.
func (r resources) Size() ref.Val { return types.Int(len(r)) }

// Type implements [ref.Val].
func (r resources) Type() ref.Type { return resourcesType }

// Equal implements [ref.Val].
func (r resources) Equal(other ref.Val) ref.Val {
	same, is := other.(resources)
	return types.Bool(is && reflect.DeepEqual(r, same))
}

// ConvertToNative implements [ref.Val].
func (r resources) ConvertToNative(to reflect.Type) (any, error) {
	return nil, fmt.Errorf("a list of resources cannot be converted to %s", to)
}

// ConvertToType implements [ref.Val].
func (r resources) ConvertToType(to ref.Type) ref.Val {
	return types.NewErr("a list of resources cannot be converted to %s", to.TypeName())
}

// Value implements [ref.Val].
func (r resources) Value() any { return corev1.ResourceList(r) }
