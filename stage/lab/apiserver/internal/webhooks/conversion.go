package webhooks

import (
	"context"
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A Converter converts custom objects by the webhooks of their definitions. Reviews, checks of
// answers and error texts are those of k8s.io/apiextensions-apiserver. It is safe for concurrent
// use.
type Converter struct {
	factory *conversion.CRConverterFactory

	mu         sync.Mutex
	converters kept[*converter] // by the name of the definition
}

// A converter is made for one state of a definition.
type converter struct {
	of *unstructured.Unstructured
	runtime.ObjectConvertor
}

// NewConverter returns a Converter.
func NewConverter(h Handlers) (*Converter, error) {
	wrap := func(webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver { return h }
	factory, err := conversion.NewCRConverterFactory(webhook.NewDefaultServiceResolver(), wrap)
	if err != nil {
		return nil, err
	}
	return &Converter{factory: factory}, nil
}

// Convert sends one review for all objects. It returns when the context ends, and the call then
// ends with its timeout of 30 seconds.
func (c *Converter) Convert(ctx context.Context, asked memory.Conversion) ([]*unstructured.Unstructured, error) {
	by, err := c.converter(asked.Definition)
	if err != nil {
		return nil, err
	}
	to, err := schema.ParseGroupVersion(asked.APIVersion)
	if err != nil {
		return nil, err
	}
	type answer struct {
		obj runtime.Object
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				answered <- answer{err: fmt.Errorf("the conversion to %s panics: %v", to, p)}
			}
		}()
		obj, err := by.ConvertToVersion(together(asked.Objects), to)
		answered <- answer{obj, err}
	}()
	select {
	case a := <-answered:
		return apart(a.obj), a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// together returns one object itself, and several as a list. The list has their kind, so that
// errors name it.
func together(objs []*unstructured.Unstructured) runtime.Object {
	if len(objs) == 1 {
		return objs[0]
	}
	list := &unstructured.UnstructuredList{Items: make([]unstructured.Unstructured, len(objs))}
	list.SetGroupVersionKind(objs[0].GroupVersionKind())
	for i, obj := range objs {
		list.Items[i] = *obj
	}
	return list
}

func apart(obj runtime.Object) (objs []*unstructured.Unstructured) {
	switch obj := obj.(type) {
	case *unstructured.Unstructured:
		return []*unstructured.Unstructured{obj}
	case *unstructured.UnstructuredList:
		for i := range obj.Items {
			objs = append(objs, &obj.Items[i])
		}
	}
	return objs
}

// converter returns the converter of a definition.
func (c *Converter) converter(crd *unstructured.Unstructured) (runtime.ObjectConvertor, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.converters.of[crd.GetName()]; known != nil && known.of == crd {
		return known, nil
	}
	given := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(crd.Object, given); err != nil {
		return nil, err
	}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(given)
	_, direct, err := c.factory.NewConverter(given) // it may change its objects, which are copies
	if err != nil {
		return nil, err
	}
	c.converters.put(crd.GetName(), &converter{crd, direct}, sizeOf(crd.Object))
	return direct, nil
}
