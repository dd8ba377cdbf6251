package main

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/examples/simulator/report"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/features"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// observeFeatures begins to observe which features that are not modelled the objects ask for.
func (l *lab) observeFeatures(set *stage.Set, controllers []reconcile.Controller) error {
	names := []string{} // not nil, which would mean that all run
	for _, c := range controllers {
		names = append(names, c.Name)
	}
	l.features = features.NewReport(features.Options{Controllers: names, Played: func(kind schema.GroupVersionKind) bool { return slices.Contains(set.Kinds(), kind) }})
	return l.features.Watch(l.On)
}

// ignored returns the section of a report about features that objects of some runs asked for and
// that had no effect. It returns no section without such features.
func ignored(runs ...*lab) []report.Section {
	var uses []features.Use
	for _, l := range runs {
		for _, u := range l.features.Uses() {
			i := slices.IndexFunc(uses, func(have features.Use) bool {
				return have.Kind == u.Kind && have.Path == u.Path && have.Feature == u.Feature
			})
			if i < 0 {
				uses = append(uses, u)
			} else {
				uses[i].Count += u.Count
			}
		}
	}
	if len(uses) == 0 {
		return nil
	}
	t := report.Table{Title: "not modelled", Head: []string{"field", "what Kubernetes does", "objects", "the first"}}
	for _, u := range uses {
		t.Rows = append(t.Rows, []string{u.Kind.Kind + " " + u.Path, u.Feature, strconv.Itoa(u.Count), u.First.String()})
	}
	return []report.Section{{Title: "Ignored", Text: "Objects asked for what the simulation does not do.", Tables: []report.Table{t}}}
}
