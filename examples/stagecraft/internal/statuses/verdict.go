// Package statuses judges objects by package kstatus, and has the verdicts as data, for the command and for the
// page.
package statuses

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// A Verdict is a result with its object, its explanation and the children that count.
type Verdict struct {
	kstatus.Result
	Object   *unstructured.Unstructured
	Explain  kstatus.Explanation
	Children []kstatus.Child
}

// Judge computes the status of each object, with others as possible children.
func Judge(ctx context.Context, rules *kstatus.Rules, others kstatus.Reader, now time.Time, objects ...*unstructured.Unstructured) (all []Verdict) {
	for _, obj := range objects {
		// The error says which look-ups failed; in files, that a child is not in the input.
		result, children, _ := rules.Inspect(ctx, others, obj, now)
		all = append(all, Verdict{Result: result, Object: obj, Explain: rules.Explain(obj, now), Children: children})
	}
	return all
}

// Why returns the explanation for the object alone, and the children that count.
func (v Verdict) Why() string {
	why := v.Explain.String()
	for _, c := range v.Children {
		why += fmt.Sprintf("  child %s %s %s\n", c.Object.GetKind(), c.Object.GetName(), Clean(c.Result.String()))
	}
	return why
}

// Name returns the name, with the namespace of a namespaced object.
func (v Verdict) Name() string {
	if v.Object.GetNamespace() == "" {
		return v.Object.GetName()
	}
	return v.Object.GetNamespace() + "/" + v.Object.GetName()
}

// Clean replaces control characters, which could break the line or control the terminal.
func Clean(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }), " ")
}

// A Row is a verdict as data. Field is the path of the field that decided.
type Row struct {
	APIVersion   string `json:"apiVersion"`
	Kind         string `json:"kind"`
	Namespace    string `json:"namespace,omitempty"`
	Name         string `json:"name"`
	Status       string `json:"status"`
	Reason       string `json:"reason,omitempty"`
	Message      string `json:"message,omitempty"`
	Field        string `json:"field,omitempty"`
	Basis        string `json:"basis"`
	Suspended    bool   `json:"suspended,omitempty"`
	Terminal     bool   `json:"terminal,omitempty"`
	RecheckAfter string `json:"recheckAfter,omitempty"`
	Explanation  string `json:"explanation,omitempty"`
}

// Row returns the verdict as data, without the explanation.
func (v Verdict) Row() Row {
	row := Row{
		APIVersion: v.Object.GetAPIVersion(), Kind: v.Object.GetKind(), Namespace: v.Object.GetNamespace(), Name: v.Object.GetName(),
		Status: string(v.Status), Reason: v.Reason, Message: v.Message(), Field: v.Field(), Basis: v.Basis.String(), Suspended: v.Suspended, Terminal: v.Terminal,
	}
	if v.RecheckAfter > 0 {
		row.RecheckAfter = v.RecheckAfter.String()
	}
	return row
}
