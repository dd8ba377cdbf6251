package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/kstatus/audit"
)

// auditAll prints a report for each definition among the objects. The other objects are the
// recording. The answer is no if tools judge one of the kinds wrongly.
func auditAll(objects []*unstructured.Unstructured, stdout io.Writer) error {
	recorded := slices.DeleteFunc(slices.Clone(objects), isDefinition)
	if len(recorded) == len(objects) {
		return errors.New("--audit: no CustomResourceDefinition in the input")
	}
	var no error
	for _, obj := range objects {
		if !isDefinition(obj) {
			continue
		}
		report := audit.Kind(obj, recorded)
		fmt.Fprintln(stdout, report)
		if !report.Compatible() {
			no = errNo
		}
	}
	return no
}

func isDefinition(obj *unstructured.Unstructured) bool {
	return obj.GetKind() == "CustomResourceDefinition"
}
