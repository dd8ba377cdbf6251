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

A controller, the admission or the server can read a field of the last three states. Its row then says so,
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
	if len(r.Unless) == 0 {
		return ""
	}
	return " (unless it is " + strings.Join(r.Unless, " or ") + ")"
}
