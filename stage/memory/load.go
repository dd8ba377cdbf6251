package memory

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/stagecraft-go/stagecraft/internal/object"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// Load creates the objects of a YAML or JSON text with any number of documents and Lists. It
// creates definitions first, then namespaces, then other objects in their order. Unlike Create,
// Load keeps the status of objects, and puts namespaced objects without a namespace into "default".
// It tries every object and returns all errors, joined. A document that aliases make longer by more
// than 3 MiB is an error, and no object is created.
func (c *Cluster) Load(ctx context.Context, data []byte) error {
	objs, err := decodeAll(data)
	if err != nil {
		return err
	}
	slices.SortStableFunc(objs, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	var errs []error
	for _, obj := range objs {
		c.defaultNamespace(obj)
		_, given := object.Get(obj.Object, "status")
		if _, err := c.create(ctx, obj, metav1.CreateOptions{}, given); err != nil {
			errs = append(errs, fmt.Errorf("%s %q: %w", obj.GetKind(), obj.GetName(), err))
		}
	}
	return errors.Join(errs...)
}

func rank(obj *unstructured.Unstructured) int {
	switch obj.GetKind() {
	case "CustomResourceDefinition":
		return 0
	case "Namespace":
		return 1
	default:
		return 2
	}
}

func (c *Cluster) defaultNamespace(obj *unstructured.Unstructured) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	k, err := c.kindOf(obj.GroupVersionKind())
	if err == nil && !k.ClusterScoped && obj.GetNamespace() == "" {
		obj.SetNamespace("default")
	}
}

func decodeAll(data []byte) (objs []*unstructured.Unstructured, err error) {
	docs, lines := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data))), 0
	for n := 1; ; n++ {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return objs, nil
		}
		var obj map[string]any
		if err == nil {
			obj, err = decodeYAML(doc)
		}
		if err != nil {
			return nil, fmt.Errorf("document %d, which begins at line %d: %w", n, lines+1, err)
		}
		lines += bytes.Count(doc, []byte("\n")) + 1 // the separator
		objs = append(objs, flatten(obj)...)
	}
}

// flatten replaces Lists by their items, and leaves out empty documents.
func flatten(obj map[string]any) (objs []*unstructured.Unstructured) {
	if len(obj) == 0 {
		return nil
	}
	items, isList := object.Slice(obj, "items")
	if !isList {
		return append(objs, &unstructured.Unstructured{Object: obj})
	}
	for _, item := range items {
		m, _ := object.ToMap(item)
		objs = append(objs, flatten(m)...)
	}
	return objs
}
