package features

import (
	"fmt"
	"strings"
)

const introduction = `# Features of built-in kinds

Written from package stage/lab/controllers/features by ` + "`cd stage/lab && UPDATE=1 go test ./controllers/features`" + `: do not edit.

- *modelled*: it has the effect that it has in Kubernetes; the test shows it.
- *reported*: Kubernetes' control plane reads it and a lab does not. A lab prints each use at the
  end of a test, with a count and the first object; labtest.Options.Strict fails the test. A row may say
  that the server of stage/lab/apiserver does what the lab does not.
- *refused*: the cluster in memory refuses it.
- *on nodes*: no controller reads it, only a kubelet, a container runtime, kube-proxy, a program of
  others or a client that prints it. Containers do not run here.

A row holds for all fields below its own.
`

// Markdown returns FEATURES.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(introduction)
	for _, k := range Kinds() {
		fmt.Fprintf(&b, "\n## %s\n", k.GroupKind())
		if k.Controller != "" {
			fmt.Fprintf(&b, "Without the controller `%s` its use is reported, unless Stages play it.\n", k.Controller)
		}
		b.WriteString("\n| field | | what Kubernetes does | test |\n|---|---|---|---|\n")
		for _, row := range k.Rows {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", row.field(), row.State, row.Feature+row.exception(), row.Test)
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

func (r Row) exception() string {
	if len(r.Unless) == 0 {
		return ""
	}
	return " (unless it is " + strings.Join(r.Unless, " or ") + ")"
}
