package labtest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/strict"
)

// A manifest has the objects that a call of Apply is given. It is immutable: labs of a Base share it.
type manifest struct {
	objects []*unstructured.Unstructured
	faults  [][]error     // by object: fields given twice, and what a Go type says of the fields
	source  *stage.Source // the text of the objects; nil for objects without a text
}

// manifestOf returns the manifest of one object.
func manifestOf(given runtime.Object) (*manifest, error) {
	obj, err := toUnstructured(given)
	if err != nil {
		return nil, err
	}
	m := &manifest{objects: []*unstructured.Unstructured{obj}, faults: [][]error{nil}}
	if _, untyped := given.(*unstructured.Unstructured); untyped {
		m.faults[0] = m.located(0, strict.Typed(obj))
	}
	return m, nil
}

func parseManifest(text string) (*manifest, error) {
	source := stage.Parse("manifest", []byte(text))
	if faults := source.Errors(); len(faults) > 0 {
		return nil, faults
	}
	if len(source.Stages()) > 0 {
		return nil, errors.New("Stages belong into Options.Stages")
	}
	m := &manifest{objects: source.OtherObjects(), source: &source}
	for i, obj := range m.objects {
		faults := source.Duplicates(i).Unwrap()
		m.faults = append(m.faults, append(faults, m.located(i, strict.Typed(obj))...))
	}
	return m, nil
}

// located gives faults of the i-th object its name, and their places in the text.
func (m *manifest) located(i int, faults []error) []error {
	located, obj := make([]error, len(faults)), m.objects[i]
	name := strings.TrimPrefix(obj.GetNamespace()+"/"+obj.GetName(), "/")
	for n, fault := range faults {
		located[n] = fmt.Errorf("%s %s: %w", obj.GetKind(), name, fault)
		if m.source != nil {
			located[n] = fmt.Errorf("%s: %w", m.source.LocateOther(i, strict.PathOf(fault)), located[n])
		}
	}
	return located
}

// faultsOf returns what kubectl would refuse in the i-th object of a manifest. A lenient lab logs
// these faults instead.
func (l *Lab) faultsOf(m *manifest, i int) []error {
	faults := m.faults[i]
	custom, err := strict.Custom(context.Background(), l.schemas, l.Cluster(), m.objects[i].DeepCopy())
	if err != nil {
		custom = append(custom, err)
	}
	if len(custom) > 0 {
		faults = append(faults[:len(faults):len(faults)], m.located(i, custom)...)
	}
	if !l.options.Lenient {
		return faults
	}
	if t, ok := l.t.(interface{ Logf(string, ...any) }); ok {
		for _, fault := range faults {
			t.Logf("labtest: %v", fault)
		}
	}
	return nil
}
