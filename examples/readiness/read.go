package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// readAll reads the objects of all files ("-" is standard input), and reports all faults. The
// objects without a fault are returned all the same. An input without objects is a fault, because
// the empty output of a failed kubectl must not count as ready.
func readAll(files []string, stdin io.Reader) ([]*unstructured.Unstructured, error) {
	if len(files) == 0 {
		files = []string{"-"}
	}
	var objects []*unstructured.Unstructured
	var errs []error
	for _, name := range files {
		documents, err := readFile(name, stdin)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
		for _, d := range documents {
			found, err := d.objects()
			objects, errs = append(objects, found...), append(errs, err)
		}
	}
	err := errors.Join(errs...)
	if err == nil && len(objects) == 0 {
		err = errors.New("there are no objects")
	}
	return objects, err
}

func readFile(name string, stdin io.Reader) ([]document, error) {
	if name == "-" {
		return readDocuments(name, stdin)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err.(*os.PathError).Err // the caller adds the name of the file
	}
	defer file.Close()
	return readDocuments(name, file)
}

// objects returns the object of a document, or the items of a list. Items without a kind get the
// kind of the list.
func (d document) objects() ([]*unstructured.Unstructured, error) {
	fields, err := d.fields()
	if err != nil || fields == nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{Object: fields}
	kind, named := strings.CutSuffix(obj.GetKind(), "List")
	list, isList := fields["items"].([]any)
	switch {
	case obj.GetKind() == "Status" && obj.GetAPIVersion() == "v1":
		return nil, d.fault(d.lineOf("message"), "no object, but an answer of the API server: %s", answer(fields))
	case !named || fields["items"] == nil && obj.GetName() != "": // the name of the kind ends in List, but the object is not a list
		if err := d.check(obj); err != nil {
			return nil, err
		}
		return []*unstructured.Unstructured{obj}, nil
	case !isList && fields["items"] != nil:
		return nil, d.fault(d.lineOf("items"), "its items are no list")
	}
	var objects []*unstructured.Unstructured
	var errs []error
	for i, item := range list {
		fields, _ := item.(map[string]any)
		item := &unstructured.Unstructured{Object: fields}
		if fields != nil && item.GetKind() == "" && kind != "" {
			item.SetKind(kind)
			item.SetAPIVersion(obj.GetAPIVersion())
		}
		if err := d.check(item, "items", i); err != nil {
			errs = append(errs, err)
			continue
		}
		objects = append(objects, item)
	}
	return objects, errors.Join(errs...)
}

// answer returns the message of a Status, in which kubectl prints errors of the API server.
func answer(status map[string]any) string {
	for _, field := range []string{"message", "reason", "status"} {
		if text, _ := status[field].(string); text != "" {
			return text
		}
	}
	return "nothing"
}

// check returns the fault of the object at a path of the document, if it has one.
func (d document) check(obj *unstructured.Unstructured, path ...any) error {
	version := obj.GetAPIVersion()
	gv, err := schema.ParseGroupVersion(version)
	switch {
	case obj.Object == nil:
		return d.fault(d.lineOf(path...), "it is no object")
	case obj.GetKind() == "":
		return d.fault(d.lineOf(append(path, "kind")...), "it has no kind")
	case version == "":
		return d.fault(d.lineOf(append(path, "apiVersion")...), "it has no apiVersion")
	case err != nil || gv.Version == "":
		return d.fault(d.lineOf(append(path, "apiVersion")...), "apiVersion %q is neither a version, as v1, nor a group and a version, as apps/v1", version)
	}
	return nil
}
