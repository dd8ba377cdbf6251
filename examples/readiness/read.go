package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// readAll reads the objects of all files, "-" being standard input. That there are none is an error: a pipe whose other end failed must not
// look ready.
func readAll(files []string, stdin io.Reader) ([]*unstructured.Unstructured, error) {
	if len(files) == 0 {
		files = []string{"-"}
	}
	var objects []*unstructured.Unstructured
	for _, name := range files {
		found, err := readFile(name, stdin)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		objects = append(objects, found...)
	}
	if len(objects) == 0 {
		return nil, errors.New("there are no objects")
	}
	return objects, nil
}

func readFile(name string, stdin io.Reader) ([]*unstructured.Unstructured, error) {
	if name == "-" {
		return read(stdin)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err.(*os.PathError).Err // the caller says which file
	}
	defer file.Close()
	return read(file)
}

// read reads documents of YAML or JSON, in each an object or a List.
func read(r io.Reader) (objects []*unstructured.Unstructured, err error) {
	documents := yaml.NewYAMLOrJSONDecoder(r, 4096)
	for n := 1; ; n++ {
		var fields map[string]any
		switch err := documents.Decode(&fields); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("document %d: %w", n, err)
		case fields == nil:
			continue // an empty document
		}
		found, err := items(fields)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		objects = append(objects, found...)
	}
}

// items are the objects of a document. Those of a List that say no kind have that of the List.
func items(fields map[string]any) ([]*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{Object: fields}
	list, isList := fields["items"].([]any)
	kind, named := strings.CutSuffix(obj.GetKind(), "List")
	switch {
	case obj.GetKind() == "":
		return nil, errors.New("it has no kind")
	case !named || fields["items"] == nil && obj.GetName() != "": // a kind may be called a list and be none
		return []*unstructured.Unstructured{obj}, nil
	case !isList && fields["items"] != nil:
		return nil, errors.New("its items are no list")
	}
	var objects []*unstructured.Unstructured
	for i, item := range list {
		fields, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("item %d is no object", i)
		}
		item := &unstructured.Unstructured{Object: fields}
		if item.GetKind() == "" && kind != "" {
			item.SetKind(kind)
			item.SetAPIVersion(obj.GetAPIVersion())
		}
		if item.GetKind() == "" {
			return nil, fmt.Errorf("item %d has no kind", i)
		}
		objects = append(objects, item)
	}
	return objects, nil
}
