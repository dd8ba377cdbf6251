package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// A feed is a cluster as far as `kubectl get --watch -o json` has printed it. It is safe for
// concurrent use.
type feed struct {
	mu      sync.Mutex
	objects map[wait.Ref]*unstructured.Unstructured
}

var _ transport.Lister = (*feed)(nil)

// read keeps the objects of a stream until its end. An object is written alone, or in an event as
// with --output-watch-events.
func (f *feed) read(stream io.Reader) error {
	for decoder := json.NewDecoder(stream); ; {
		var text json.RawMessage
		if err := decoder.Decode(&text); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var value map[string]any
		if err := utiljson.Unmarshal(text, &value); err != nil {
			return err
		}
		f.add(value)
	}
}

func (f *feed) add(value map[string]any) {
	if object, ok := value["object"].(map[string]any); ok {
		f.keep(object, value["type"] == "DELETED")
		return
	}
	items, isList := value["items"].([]any)
	if !isList {
		f.keep(value, false)
	}
	for _, item := range items {
		if object, ok := item.(map[string]any); ok {
			f.keep(object, false)
		}
	}
}

func (f *feed) keep(object map[string]any, deleted bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	obj := &unstructured.Unstructured{Object: object}
	if deleted {
		delete(f.objects, wait.RefOf(obj))
		return
	}
	f.objects[wait.RefOf(obj)] = obj
}

// List implements [transport.Lister].
func (f *feed) List(_ context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	byLabel, err := labels.Parse(o.LabelSelector)
	byField, err2 := fields.ParseSelector(o.FieldSelector)
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	list := &unstructured.UnstructuredList{Object: map[string]any{}}
	for ref, obj := range f.objects {
		if ref.Kind == kind && (namespace == "" || ref.Namespace == namespace) && byLabel.Matches(labels.Set(obj.GetLabels())) &&
			byField.Matches(fields.Set{"metadata.name": ref.Name, "metadata.namespace": ref.Namespace}) {
			list.Items = append(list.Items, *obj)
		}
	}
	return list, nil
}
