package defaults

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// words are the texts of random objects: texts that defaults depend on, and others.
var words = []string{
	"a", "b", "RollingUpdate", "Recreate", "OnDelete", "ClusterIP", "NodePort", "LoadBalancer", "ExternalName", "ClientIP", "None", "Container", "Pod", "User", "Group", "ServiceAccount",
	"ExactCount", "All", "Indexed", "Always", "Never", "Cluster", "Ingress", "Egress", "nginx", "nginx:latest", "nginx:1.2", "x/y@sha256:" + strings.Repeat("a", 64), "registry:5000/a/b", "Bad Image", "a:", "cpu", "memory", "hugepages-2Mi",
}

// A filler fills Go values at random.
type filler struct {
	*rand.Rand
	often float64 // how often a field is filled
	deep  int
}

// object returns a random object of a kind as a client may send it.
func object(kind schema.GroupVersionKind, seed uint64) (map[string]any, error) {
	typed, err := legacyscheme.Scheme.New(kind)
	if err != nil {
		return nil, err
	}
	f := &filler{Rand: rand.New(rand.NewPCG(seed, 1))}
	f.often = f.Float64()
	f.value(reflect.ValueOf(typed).Elem())
	typed.GetObjectKind().SetGroupVersionKind(kind)
	obj, err := write(typed)
	if err == nil && f.IntN(2) == 0 {
		f.thin(obj)
	}
	return obj, err
}

// thin takes fields from an object that its Go type always has.
func (f *filler) thin(obj map[string]any) {
	for _, name := range slices.Sorted(keys(obj)) {
		switch v := obj[name].(type) {
		case map[string]any:
			f.thin(v)
			if len(v) == 0 && f.IntN(2) == 0 {
				delete(obj, name)
			}
		case []any:
			for _, e := range v {
				if m, is := e.(map[string]any); is {
					f.thin(m)
				}
			}
		default:
			if reflect.ValueOf(v).IsZero() && f.IntN(2) == 0 {
				delete(obj, name)
			}
		}
	}
}

func keys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (f *filler) value(v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *metav1.TypeMeta, *metav1.FieldsV1, *[]metav1.ManagedFieldsEntry, *metav1.Duration:
		return
	case *metav1.Time:
		*p = metav1.Unix(int64(f.IntN(1e9)), 0)
		return
	case *metav1.MicroTime:
		*p = metav1.NewMicroTime(time.Unix(int64(f.IntN(1e9)), 0))
		return
	case *resource.Quantity:
		*p = resource.MustParse([]string{"1", "500m", "2Gi"}[f.IntN(3)])
		return
	case *intstr.IntOrString:
		*p = []intstr.IntOrString{intstr.FromInt32(0), intstr.FromInt32(7), intstr.FromString("30%"), intstr.FromString("")}[f.IntN(4)]
		return
	case *runtime.RawExtension:
		p.Raw = []byte(`{"a": 1}`)
		return
	}
	f.byKind(v)
}

func (f *filler) byKind(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(f.IntN(2) == 0)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.IntN(3)))
	case reflect.Uint8:
		v.SetUint(uint64('a' + f.IntN(3)))
	case reflect.String:
		v.SetString(words[f.IntN(len(words))])
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.value(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+f.IntN(2), 2))
		for i := range v.Len() {
			f.value(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.value(key)
		f.value(elem)
		v.SetMapIndex(key, elem)
	case reflect.Struct:
		f.fields(v)
	}
}

func (f *filler) fields(v reflect.Value) {
	f.deep++
	defer func() { f.deep-- }()
	for i := range v.NumField() {
		if f.Float64() < f.often || f.deep < 2 {
			f.value(v.Field(i))
		}
	}
}
