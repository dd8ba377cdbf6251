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

// A Source is StagedBindingPolicies, the text they came from, and the faults that were found while
// reading it. [Compile] reports these faults with its own.
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

// Parse reads StagedBindingPolicies from YAML or JSON text with any number of documents. Errors
// call the text by name. Parse itself cannot fail: [Compile] reports the faults.
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

// Object returns a Source of a StagedBindingPolicy that did not come from text. Its faults have
// paths but no positions. The policy must not be changed afterwards.
func Object(policy v1alpha1.StagedBindingPolicy) Source {
	return Source{definitions: []definition{{policy: policy}}}
}

// Policies returns the StagedBindingPolicies, including those with faults.
func (s Source) Policies() []v1alpha1.StagedBindingPolicy {
	policies := make([]v1alpha1.StagedBindingPolicy, len(s.definitions))
	for i, d := range s.definitions {
		policies[i] = d.policy
	}
	return policies
}

// Others returns the objects of the text that are not StagedBindingPolicies, in the order of the
// text. An object whose kind or version is nearly that of a StagedBindingPolicy, or of a
// KubeStellar kind that a rollout uses, is not among them: it is a fault. So are the faults in the
// fields of a StatusCollector.
func (s Source) Others() []*unstructured.Unstructured { return slices.Clone(s.others) }

// document reads one object. An item of a list that has no type itself has the type that the list
// says.
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
			ofItem := metav1.TypeMeta{APIVersion: of.APIVersion, Kind: strings.TrimSuffix(of.Kind, "List")}
			s.document(doc.Sub(position.Index("items", i), item), ofItem)
		}
	default:
		s.other(doc, obj, of)
	}
}

// The kinds that a rollout uses.
var (
	stagedPolicyKind = v1alpha1.GroupVersion.WithKind(v1alpha1.Kind)
	collectorKind    = control.GroupVersion.WithKind("StatusCollector")
	knownKinds       = []schema.GroupVersionKind{
		stagedPolicyKind, control.GroupVersion.WithKind("BindingPolicy"), control.GroupVersion.WithKind("Binding"),
		control.GroupVersion.WithKind("CombinedStatus"), collectorKind,
	}
)

// other stores an object that is no StagedBindingPolicy. If its type seems to be a misspelt one of
// a rollout, that is a fault.
func (s *Source) other(doc *position.Document, obj *unstructured.Unstructured, of metav1.TypeMeta) {
	if fault := misspelt(of.APIVersion, of.Kind); fault != nil {
		s.fault(doc, obj.GetName(), fault)
		return
	}
	if of.APIVersion == control.GroupVersion.String() && of.Kind == collectorKind.Kind {
		for _, e := range doc.Decode(new(control.StatusCollector)) {
			s.fault(doc, "", e)
		}
	}
	s.others = append(s.others, obj)
}

// misspelt returns the fault of a version or kind that is nearly that of a known kind; nil if it is
// right, or not near any.
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
		case fault == nil && nearKind && !sameKind && (nearVersion || k == stagedPolicyKind):
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
	if want := v1alpha1.GroupVersion.String(); apiVersion != want {
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

// locate returns a fault with its position in the text.
func locate(doc *position.Document, name string, e *position.Error) *Error {
	fault := &Error{Policy: name, Path: e.Path, Err: e.Err}
	if doc != nil {
		fault.Position = Position(doc.Locate(e))
	}
	return fault
}
