package celrule

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/common/ast"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/position"
)

// A HealthCheck is an entry of healthCheckExprs in Flux. Without a Kind it is for all kinds of the
// group.
type HealthCheck struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind,omitempty"`
	InProgress string `json:"inProgress,omitempty"`
	Failed     string `json:"failed,omitempty"`
	Current    string `json:"current"`
}

// Spec returns the check as a Spec: for all versions of the group, and without a kind for all kinds.
// The error says that APIVersion is none.
func (h HealthCheck) Spec() (Spec, error) {
	gv, err := schema.ParseGroupVersion(h.APIVersion)
	if err != nil || gv.Version == "" {
		return Spec{}, fmt.Errorf("%q is no apiVersion, such as apps/v1", h.APIVersion)
	}
	spec := Spec{Group: gv.Group, Kind: h.Kind, InProgress: h.InProgress, Failed: h.Failed, Current: h.Current}
	if h.Kind == "" {
		spec.Kind = "*"
	}
	return spec, nil
}

// fluxChecks returns the list of checks in a document and its path, which is "" if the document is
// not one of Flux.
func fluxChecks(value any) (path string, checks any) {
	doc, _ := value.(map[string]any)
	if list, ok := doc["healthCheckExprs"]; ok {
		return "healthCheckExprs", list
	}
	spec, _ := doc["spec"].(map[string]any)
	if list, ok := spec["healthCheckExprs"]; ok {
		return "spec.healthCheckExprs", list
	}
	return "", nil
}

// decodeFlux compiles the checks at a path of a document. Unlike our expressions they may use any
// field of the object by its name.
func decodeFlux(doc *position.Document, path string, list any) (Rules, []*position.Error) {
	var checks []HealthCheck
	faults := doc.Sub(path, list).Decode(&checks)
	specs := make([]Spec, len(checks))
	variables := slices.Clone(topLevel)
	for i, c := range checks {
		spec, err := c.Spec()
		if err != nil {
			faults = append(faults, &position.Error{Path: position.Index("", i) + ".apiVersion", Offset: -1, Err: err})
		}
		specs[i] = spec
		for _, source := range []string{c.InProgress, c.Failed, c.Current} {
			variables = append(variables, namesIn(source)...)
		}
	}
	rules, more := newCompiler(variables).compile("", specs)
	return rules, below(path, unlessAround(faults, more))
}

// namesIn returns the names of fields that an expression uses, none if it cannot be parsed. Names
// for which there are hints are left out, because objects have no such fields.
func namesIn(source string) (names []string) {
	tree, err := parse(source)
	if err != nil {
		return nil
	}
	ast.PreOrderVisit(tree, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.IdentKind && hints[e.AsIdent()] == "" && !slices.Contains(types, e.AsIdent()) {
			names = append(names, e.AsIdent())
		}
	}))
	return names
}

// types are the names of CEL's types.
var types = []string{"bool", "bytes", "double", "int", "list", "map", "null_type", "optional_type", "string", "type", "uint"}
