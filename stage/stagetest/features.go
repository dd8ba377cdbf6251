package stagetest

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/controllers/features"
)

// A logger is what a T has besides, if it is a *testing.T or GinkgoT().
type logger interface {
	Cleanup(func())
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
}

// NotModelled returns what objects of the lab have asked for so far that Kubernetes' control plane
// does and the lab does not, once for each kind and field. FEATURES.md lists what it knows of. It is
// logged at the end of the test, or fails it, see LabOptions.Strict.
func (l *Lab) NotModelled() []features.Use { return l.features.Uses() }

// reportFeatures begins to observe what objects ask for.
func (l *Lab) reportFeatures() error {
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
	var lines []string
	for _, u := range l.NotModelled() {
		lines = append(lines, u.String())
	}
	switch text := strings.Join(lines, "\n"); {
	case len(lines) == 0:
	case l.options.Strict:
		t.Errorf("stagetest: objects ask for what the lab does not model:\n%s", text)
	default:
		t.Logf("stagetest: objects ask for what the lab does not model:\n%s", text)
	}
}
