package kstatus

import (
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/kstatus/internal/words"
)

// A definition is what a version of a CustomResourceDefinition says about the status.
type definition struct {
	subresource bool
	declared    bool // the schema has a status, or allows any field
	statePaths  bool // the schema of the status has a field for a state, or allows any field
	readyColumn bool // kubectl get prints the condition Ready
	phases      map[string]map[string]words.Meaning
}

// definitionOf reads a version of a CustomResourceDefinition.
func definitionOf(version map[string]any) *definition {
	d := &definition{phases: map[string]map[string]words.Meaning{}}
	_, d.subresource = object.Get(version, "subresources", "status")
	root, _ := object.Get(version, "schema", "openAPIV3Schema")
	status, declared := object.Get(version, "schema", "openAPIV3Schema", "properties", "status")
	d.declared = declared || isOpen(root)
	d.statePaths = !declared || declaresState(status, stateDepth)
	d.readyColumn = printsReady(version)
	schema, _ := object.ToMap(status)
	properties, _ := object.Map(schema, "properties")
	for field, v := range properties {
		if inner, _ := object.ToMap(v); words.IsPhaseField(field) {
			d.phases[field] = phaseMeanings(inner)
		}
	}
	return d
}

// isOpen reports whether a schema is missing, or allows fields that it does not name.
func isOpen(v any) bool {
	m, ok := object.ToMap(v)
	return !ok || m["x-kubernetes-preserve-unknown-fields"] == true
}

// declaresState reports whether a schema has a property for a state, or allows any.
func declaresState(v any, depth int) bool {
	m, _ := object.ToMap(v)
	properties, _ := object.ToMap(m["properties"])
	if m["x-kubernetes-preserve-unknown-fields"] == true {
		return true
	}
	for name, inner := range properties {
		if words.NamesState(name) || depth > 1 && declaresState(inner, depth-1) {
			return true
		}
	}
	return declaresStateOfParts(m, depth)
}

func declaresStateOfParts(m map[string]any, depth int) bool {
	for _, field := range [...]string{"items", "additionalProperties"} {
		if inner, ok := object.ToMap(m[field]); ok && declaresState(inner, depth-1) {
			return true
		}
	}
	return false
}

// printsReady reports whether one of the columns is the status of the condition Ready.
func printsReady(version map[string]any) bool {
	columns, _ := object.Slice(version, "additionalPrinterColumns")
	for _, item := range columns {
		m, _ := object.ToMap(item)
		path, _ := m["jsonPath"].(string)
		if strings.HasPrefix(path, ".status.conditions[") && strings.Contains(path, `"Ready"`) {
			return true
		}
		if strings.HasPrefix(path, ".status.conditions[") && strings.Contains(path, `'Ready'`) {
			return true
		}
	}
	return false
}

// phaseMeanings returns the meanings of the values of a phase that have no meaning by themselves.
func phaseMeanings(schema map[string]any) map[string]words.Meaning {
	out := map[string]words.Meaning{}
	values, _ := object.Slice(schema, "enum")
	description, _ := schema["description"].(string)
	unknown, good := []string(nil), false
	for _, item := range values {
		value, _ := item.(string)
		m := words.OfPhrase(value)
		good = good || words.StepDone <= m && m <= words.Running
		if value == "" || m != words.None {
			continue
		}
		if m := meaningIn(description, value); m != words.None {
			out[value] = m
			continue
		}
		unknown = append(unknown, value)
	}
	if len(unknown) == 1 && !good && len(out) == 0 && len(values) > 1 {
		out[unknown[0]] = words.Good
	}
	return out
}

// meaningIn returns the meaning of what a description says after a value, up to the end of the line
// or of the sentence: `Frobbed: the widget is ready`.
func meaningIn(description, value string) words.Meaning {
	for rest := description; ; {
		_, after, found := strings.Cut(rest, value)
		if !found {
			return words.None
		}
		rest = after
		clause := strings.TrimLeft(after, "`\"' ")
		clause, explained := cutExplanation(clause)
		if !explained {
			continue
		}
		if end := strings.IndexAny(clause, "\n.;"); end >= 0 {
			clause = clause[:end]
		}
		if m := words.OfPhrase(clause); m != words.None {
			return m
		}
	}
}

// cutExplanation removes what stands between a value and its explanation.
func cutExplanation(clause string) (string, bool) {
	for _, sign := range [...]string{":", "- ", "= ", "means ", "is set when ", "if ", "when "} {
		if rest, ok := strings.CutPrefix(clause, sign); ok {
			return rest, true
		}
	}
	return clause, false
}

// phase returns the verdict on a phase whose value only the definition explains.
func (d *definition) phase(o *Object) (worst Result, found bool) {
	for field, meanings := range d.phases {
		value, _ := o.status[field].(string)
		m, known := meanings[value]
		if !known {
			continue
		}
		s := statusScan{meaning: m, field: field, phase: value}
		r := o.phaseResult(&s).on(BasisWords)
		if !found || r.isWorse(worst) || !worst.isWorse(r) && r.item < worst.item {
			worst, found = r, true
		}
	}
	return worst, found
}
