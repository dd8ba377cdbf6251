package stage

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/printable"
)

// Key names an object. It is comparable.
type Key struct {
	Group, Version, Kind string
	Namespace, Name      string // Namespace is "" for cluster-scoped objects
}

// KeyOf returns the key of an object. The key of nil is zero.
func KeyOf(obj *unstructured.Unstructured) Key {
	if obj == nil {
		return Key{}
	}
	metadata := metadataOf(obj)
	k := Key{Namespace: text(metadata, "namespace"), Name: text(metadata, "name")}
	if gv, err := schema.ParseGroupVersion(text(obj.Object, "apiVersion")); err == nil {
		k.Group, k.Version, k.Kind = gv.Group, gv.Version, text(obj.Object, "kind")
	}
	return k
}

// metadataOf returns the metadata of an object; nil without metadata.
func metadataOf(obj *unstructured.Unstructured) map[string]any {
	m, _ := obj.Object["metadata"].(map[string]any)
	return m
}

func resourceVersion(obj *unstructured.Unstructured) string {
	return text(metadataOf(obj), "resourceVersion")
}

// text returns a field that should be a string; "" if it is not a string.
func text(m map[string]any, field string) string {
	s, _ := m[field].(string)
	return s
}

// GroupVersionKind returns the kind of the object.
func (k Key) GroupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
}

// NamespacedName returns the namespace and name of the object.
func (k Key) NamespacedName() types.NamespacedName {
	return types.NamespacedName{Namespace: k.Namespace, Name: k.Name}
}

// Compare orders keys by group, version, kind, namespace and name. It returns -1, 0 or 1.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Group, other.Group), cmp.Compare(k.Version, other.Version), cmp.Compare(k.Kind, other.Kind),
		cmp.Compare(k.Namespace, other.Namespace), cmp.Compare(k.Name, other.Name))
}

// String prints Kind.group namespace/name, such as "Pod default/web" or "Train.demo.example.com
// rail/t1". Control characters, which no API server stores in a name, are escaped.
func (k Key) String() string {
	s := k.Kind
	if k.Group != "" {
		s += "." + k.Group
	}
	s += " "
	if k.Namespace != "" {
		s += k.Namespace + "/"
	}
	return printable.Text(s + k.Name)
}
