package features

import (
	"fmt"
	"strings"
)

const introduction = `# Features of built-in kinds

Package stage/lab/controllers/features generates this page: do not edit it. To write it again, run
` + "`cd stage/lab && UPDATE=1 go test ./controllers/features`" + `.

- *modelled*: the field has the effect that it has in Kubernetes; the test shows it.
- *reported*: the field has no effect in a lab, but has one in Kubernetes' control plane. A lab prints each
  use at the end of a test, with a count and the first object. With labtest.Options.Strict the test fails.
- *refused*: the cluster in memory refuses the field.
- *on nodes*: only a kubelet, a container runtime, kube-proxy or another program gives the field an effect.
  Containers do not run here.
- *stored*: no part of a control plane acts on it, except as other kinds say that refer to it.
- *off*: Kubernetes 1.36 has it only with a flag or a feature gate that is off by default. It is not here: a
  request for such a kind is answered with NotFound.

The last two tables list the controllers of kube-controller-manager and the admission plugins of kube-apiserver.
A test walks Kubernetes' own lists of them, and its list of kinds, and fails for one that is not on this page.
Over HTTP, the server tells the first use of each reported field in a Warning header, which kubectl prints.

A controller, the admission or the server can read a field of the states *reported*, *refused* and *on nodes*. Its row then says so,
with the test that shows it. Tests compare the table with the fields that controllers read, both ways.

A row applies to all fields below its own.
`

// Markdown returns FEATURES.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(introduction)
	for _, k := range Kinds() {
		fmt.Fprintf(&b, "\n## %s\n", k.GroupKind())
		if k.Controller != "" {
			fmt.Fprintf(&b, "Without the controller `%s` the use of this kind is reported, unless Stages play it.\n", k.Controller)
		}
		b.WriteString("\n| field | state | what Kubernetes does | test |\n|---|---|---|---|\n")
		for _, row := range k.Rows {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", row.field(), row.State, row.Feature+row.exception()+row.also(), row.Test)
		}
	}
	parts(&b, "Controllers of kube-controller-manager", Controllers())
	parts(&b, "Admission plugins of kube-apiserver", AdmissionPlugins())
	return b.String()
}

func (r Row) field() string {
	if r.Path == "" {
		return "the kind"
	}
	return "`" + r.Path + "`"
}

func (r Row) also() string {
	if r.Also == "" {
		return ""
	}
	return "; here read by " + r.Also
}

func (r Row) exception() string {
	switch {
	case len(r.Only) > 0:
		return " (if it is " + strings.Join(r.Only, " or ") + ")"
	case len(r.Unless) > 0:
		return " (unless it is " + strings.Join(r.Unless, " or ") + ")"
	}
	return ""
}

// parts writes a table of the parts of a program.
func parts(b *strings.Builder, title string, all []Part) {
	fmt.Fprintf(b, "\n## %s\n\n| name | state | what it does | test, or the field that is reported |\n|---|---|---|---|\n", title)
	for _, p := range all {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", p.Name, p.State, p.Feature, p.Test+strings.Join(p.Uses, ", "))
	}
}
