package main

import (
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/kstatus/audit"
)

// auditAll prints a report for each definition among the objects. The other objects are the
// recording. It returns the exit code: 1 if tools judge one of the kinds wrongly.
func auditAll(objects []*unstructured.Unstructured, stdout, stderr io.Writer) int {
	recorded := slices.Clone(objects)
	recorded = slices.DeleteFunc(recorded, isDefinition)
	code := 2
	for _, obj := range objects {
		if !isDefinition(obj) {
			continue
		}
		report := audit.Kind(obj, recorded)
		fmt.Fprintln(stdout, report)
		if code == 2 {
			code = 0
		}
		if !report.Compatible() {
			code = 1
		}
	}
	if code == 2 {
		fmt.Fprintln(stderr, "readiness: -audit: there is no CustomResourceDefinition in the input")
	}
	return code
}

func isDefinition(obj *unstructured.Unstructured) bool {
	return obj.GetKind() == "CustomResourceDefinition"
}
