package staged

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A Source is StagedBindingPolicies together with where they came from, and the faults found while reading them; [Compile] reports these with its own.
//
// A Source is immutable and safe for concurrent use.
type Source struct {
	name        string
	definitions []definition
	others      []*unstructured.Unstructured
	faults      Errors
}

// A definition is one StagedBindingPolicy and the document it was read from, if any.
type definition struct {
	policy v1alpha1.StagedBindingPolicy
	doc    *position.Document // nil if it did not come from text
}

// Parse reads StagedBindingPolicies from YAML or JSON text: any number of documents. Name is what errors call the text. Parse itself
// cannot fail: faults go to [Compile].
func Parse(name string, data []byte) Source {
	s := Source{name: name}
	docs, faults := position.Parse(name, data)
	for _, f := range faults {
		s.faults = append(s.faults, &Error{Position: Position(f.Position), Path: f.Path, Err: f.Err})
	}
	for _, doc := range docs {
		s.document(doc, metav1.TypeMeta{})
	}
	return s
}

// Object makes a Source of a StagedBindingPolicy that did not come from text. Its faults carry paths but no positions. The policy must not be changed afterwards.
func Object(policy v1alpha1.StagedBindingPolicy) Source {
	return Source{definitions: []definition{{policy: policy}}}
}

// Policies returns the StagedBindingPolicies, those with faults included.
func (s Source) Policies() []v1alpha1.StagedBindingPolicy {
	policies := make([]v1alpha1.StagedBindingPolicy, len(s.definitions))
	for i, d := range s.definitions {
		policies[i] = d.policy
	}
	return policies
}

// Others returns the objects of the text that are not StagedBindingPolicies, in its order. One whose kind or version is nearly that of a
// StagedBindingPolicy, or of a kind of KubeStellar's that a rollout uses, is not among them, but a fault. So is what is wrong with the fields of a
// StatusCollector.
func (s Source) Others() []*unstructured.Unstructured { return slices.Clone(s.others) }

// document reads one object. An item of a list is of the type that the list says when it says none itself.
func (s *Source) document(doc *position.Document, of metav1.TypeMeta) {
	m, ok := doc.Value.(map[string]any)
	if !ok {
		s.fault(doc, "", &position.Error{Path: "document", Offset: -1, Err: errors.New("want an object")})
		return
	}
	obj := &unstructured.Unstructured{Object: m}
	if obj.GetKind() != "" {
		of = metav1.TypeMeta{APIVersion: obj.GetAPIVersion(), Kind: obj.GetKind()}
	}
	items, isList := m["items"].([]any)
	switch {
	case of.Kind == "":
		s.fault(doc, "", &position.Error{Path: "kind", Offset: -1, Err: errors.New("missing")})
	case of.Kind == v1alpha1.Kind:
		s.policy(doc, of.APIVersion)
	case isList && strings.HasSuffix(of.Kind, "List"):
		for i, item := range items {
			s.document(doc.Sub(position.Index("items", i), item), metav1.TypeMeta{APIVersion: of.APIVersion, Kind: strings.TrimSuffix(of.Kind, "List")})
		}
	default:
		s.other(doc, obj, of)
	}
}

// knownKinds are those of a rollout.
var knownKinds = []schema.GroupVersionKind{
	stagedKind, policyKind, bindingKind, statusKind, {Group: control.Group, Version: control.Version, Kind: collectorType.Kind},
}

var collectorType = metav1.TypeMeta{APIVersion: control.Group + "/" + control.Version, Kind: "StatusCollector"}

// other keeps an object that is no StagedBindingPolicy, unless it seems to be meant for one of a rollout.
func (s *Source) other(doc *position.Document, obj *unstructured.Unstructured, of metav1.TypeMeta) {
	if fault := misspelt(of.APIVersion, of.Kind); fault != nil {
		s.fault(doc, obj.GetName(), fault)
		return
	}
	if of == collectorType {
		for _, e := range doc.Decode(new(control.StatusCollector)) {
			s.fault(doc, "", e)
		}
	}
	s.others = append(s.others, obj)
}

// misspelt is what is wrong with a version or kind that is nearly one of a rollout; nil if that is neither, or right.
func misspelt(apiVersion, kind string) (fault *position.Error) {
	for _, k := range knownKinds {
		version := k.GroupVersion().String()
		sameKind, sameVersion := kind == k.Kind, apiVersion == version
		nearKind := sameKind || position.Nearest(kind, []string{k.Kind}) != ""
		nearVersion := position.Nearest(apiVersion, []string{version}) != "" || strings.HasPrefix(apiVersion, k.Group+"/")
		switch {
		case sameKind && sameVersion:
			return nil
		case sameKind && nearVersion:
			fault = misspelling("apiVersion", apiVersion, version)
		case fault == nil && nearKind && !sameKind && (nearVersion || k == stagedKind):
			fault = misspelling("kind", kind, k.Kind)
		}
	}
	return fault
}

func misspelling(path, got, want string) *position.Error {
	return &position.Error{Path: path, Offset: -1, Err: fmt.Errorf("unknown %q; did you mean %s?", got, want)}
}

func (s *Source) policy(doc *position.Document, apiVersion string) {
	d := definition{doc: doc}
	faults := doc.Decode(&d.policy)
	if want := v1alpha1.Group + "/" + v1alpha1.Version; apiVersion != want {
		faults = append(faults, &position.Error{Path: "apiVersion", Offset: -1, Err: errors.New("want " + want)})
	}
	for _, e := range faults {
		s.fault(doc, d.policy.Name, e)
	}
	s.definitions = append(s.definitions, d)
}

func (s *Source) fault(doc *position.Document, name string, e *position.Error) {
	s.faults = append(s.faults, locate(doc, name, e))
}

// locate gives a fault its place in the file.
func locate(doc *position.Document, name string, e *position.Error) *Error {
	fault := &Error{Policy: name, Path: e.Path, Err: e.Err}
	if doc != nil {
		fault.Position = Position(doc.Locate(e))
	}
	return fault
}
