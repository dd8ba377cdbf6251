package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
)

// printTable prints a line for each object, then the explanations.
func printTable(w io.Writer, verdicts []verdict, explain bool) error {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "KIND\tNAME\tSTATUS\tREASON\tMESSAGE")
	for _, v := range verdicts {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", clean(v.obj.GetKind()), clean(v.name()), v.status(), cmp.Or(clean(v.Reason), "-"), clean(v.Message()))
	}
	err := table.Flush()
	for _, v := range verdicts {
		if explain && err == nil {
			_, err = fmt.Fprintf(w, "\n%s %s\n%s", clean(v.obj.GetKind()), clean(v.name()), indent(v.why()))
		}
	}
	return err
}

// why returns the explanation for the object alone, and the children that count.
func (v verdict) why() string {
	why := v.explain.String()
	for _, c := range v.children {
		why += fmt.Sprintf("  child %s %s %s\n", c.Object.GetKind(), c.Object.GetName(), clean(c.Result.String()))
	}
	return why
}

// name returns the name, with the namespace of a namespaced object.
func (v verdict) name() string {
	if v.obj.GetNamespace() == "" {
		return v.obj.GetName()
	}
	return v.obj.GetNamespace() + "/" + v.obj.GetName()
}

func (v verdict) status() string {
	if v.Suspended {
		return string(v.Status) + " (suspended)"
	}
	return string(v.Status)
}

// clean replaces control characters, which could break the line or control the terminal.
func clean(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }), " ")
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("  " + clean(line) + "\n")
	}
	return b.String()
}

// A row is a verdict as data. Field is the path of the field that decided.
type row struct {
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

// rowsOf returns verdicts as data.
func rowsOf(verdicts []verdict, explain bool) []row {
	rows := make([]row, len(verdicts))
	for i, v := range verdicts {
		rows[i] = row{
			APIVersion: v.obj.GetAPIVersion(), Kind: v.obj.GetKind(), Namespace: v.obj.GetNamespace(), Name: v.obj.GetName(),
			Status: string(v.Status), Reason: v.Reason, Message: v.Message(), Field: v.Field(), Basis: v.Basis.String(), Suspended: v.Suspended, Terminal: v.Terminal,
		}
		if v.RecheckAfter > 0 {
			rows[i].RecheckAfter = v.RecheckAfter.String()
		}
		if explain {
			rows[i].Explanation = v.why()
		}
	}
	return rows
}
