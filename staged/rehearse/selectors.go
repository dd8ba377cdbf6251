package rehearse

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
)

// lintSelectors finds clusters that several stages select, and clusters that none does.
func (r *run) lintSelectors() error {
	stages := map[string][]string{}
	for _, s := range r.in.Policy.Spec.Stages {
		found, err := kubestellar.Destinations(s.ClusterSelectors, r.startLabels)
		if err != nil {
			return err
		}
		for _, d := range found {
			stages[d.ClusterID] = append(stages[d.ClusterID], s.Name)
		}
	}
	overlaps := map[string][]string{} // clusters, by the stages that select them
	var uncovered []string
	for _, name := range slices.Sorted(maps.Keys(r.startLabels)) {
		switch by := stages[name]; {
		case len(by) == 0:
			uncovered = append(uncovered, name)
		case len(by) > 1:
			key := strings.Join(by, ", ")
			overlaps[key] = append(overlaps[key], name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(overlaps)) {
		r.addLint("", "stages %s overlap: all of them select %s", key, some(overlaps[key]))
	}
	if len(uncovered) > 0 {
		r.addLint("", "no stage selects %s", some(uncovered))
	}
	return nil
}

// some names the first of many.
func some(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
