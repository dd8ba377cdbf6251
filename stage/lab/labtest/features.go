package labtest

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/admission"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/features"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A logger is the additional method of a T that is a *testing.T or GinkgoT().
type logger interface {
	Cleanup(func())
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
}

// NotModelled returns the features of Kubernetes' control plane that objects of the lab have asked
// for and that the lab does not have, once for each kind and field. It leaves out what the server of
// stage/lab/apiserver does, if one serves the cluster. FEATURES.md lists all features.
// The result is logged at the end of the test, or fails it, see Options.Strict.
func (l *Lab) NotModelled() []features.Use {
	l.dropping.Lock()
	defer l.dropping.Unlock()
	if l.options.Quiet {
		return nil
	}
	for _, obj := range l.dropped {
		l.features.Observe(obj.GroupVersionKind(), obj, true)
	}
	l.dropped = nil
	return slices.DeleteFunc(l.features.Uses(), func(u features.Use) bool { return u.Hooks != "" && l.Cluster().HasHooks(u.Hooks) })
}

// admission returns the admission hooks of the lab.
func (l *Lab) admission() memory.Hooks {
	h := admission.Hooks()
	h.Review = l.admit
	return h
}

// admit is the admission of the lab. It remembers objects with a field that it drops, because the
// stored object no longer shows the field. Every writer calls it, in any goroutine.
func (l *Lab) admit(v *memory.Review) error {
	if v.Kind == nodeKind && v.Old == nil && (!l.options.OnlyStages || !l.begun) {
		labelNode(v.New)
	}
	given := maps.Clone(v.New.Object)
	if err := admission.DropFields(v); err != nil {
		return err
	}
	if v.Kind == statefulSet && !l.options.Quiet && !object.DeepEqual(given["spec"], v.New.Object["spec"]) {
		l.dropping.Lock()
		l.dropped = append(l.dropped, &unstructured.Unstructured{Object: given})
		l.dropping.Unlock()
	}
	if !l.runs("pvc-protection") {
		return admission.AdmitUnprotected(v)
	}
	return admission.Admit(v)
}

var statefulSet = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}

// reportFeatures begins to observe the features that objects ask for.
func (l *Lab) reportFeatures() error {
	if l.options.Quiet {
		return nil
	}
	names := []string{} // not nil, which would mean that all run
	for _, c := range l.options.Controllers {
		names = append(names, c.Name)
	}
	l.features = features.NewReport(features.Options{Controllers: names, Played: func(kind schema.GroupVersionKind) bool { return slices.Contains(l.set.Kinds(), kind) }})
	if t, ok := l.t.(logger); ok {
		t.Cleanup(func() { l.logFeatures(t) })
	}
	return l.features.Watch(l.sim.On)
}

func (l *Lab) logFeatures(t logger) {
	if text := l.RealClock(); text != "" {
		t.Logf("labtest: %s", text)
	}
	var lines []string
	for _, u := range l.NotModelled() {
		lines = append(lines, u.String())
	}
	switch text := strings.Join(lines, "\n"); {
	case len(lines) == 0:
	case l.options.Strict:
		t.Errorf("labtest: objects ask for what the lab does not model:\n%s", text)
	default:
		t.Logf("labtest: objects ask for what the lab does not model:\n%s", text)
	}
}
