package hunt

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// idle returns the controllers that have reconciled nothing, as process/controller with the kind, and
// the processes without a controller that has reconciled something.
func (r *Run) idle() (controllers, processes []string) {
	for _, name := range slices.Sorted(maps.Keys(r.keys)) {
		if !r.served[name] {
			controllers = append(controllers, fmt.Sprintf("%s (%s)", name, r.keys[name]))
		}
	}
	for _, p := range r.programs {
		busy := slices.ContainsFunc(slices.Collect(maps.Keys(r.served)), func(name string) bool { return strings.HasPrefix(name, p.subject+"/") })
		if !busy && !slices.Contains(processes, p.subject) {
			processes = append(processes, p.subject)
		}
	}
	return controllers, processes
}

// untried is the error of a run without faults in which a process did nothing: there is nothing that a
// fault could break.
func (o *Outcome) untried() error {
	var all []error
	for _, process := range o.resting {
		var controllers []string
		for _, c := range o.idle {
			if strings.HasPrefix(c, process+"/") {
				controllers = append(controllers, c)
			}
		}
		text := "no object concerns its controllers " + strings.Join(controllers, ", ") + ": apply one"
		if len(controllers) == 0 {
			text = "it has no controllers"
		}
		all = append(all, fmt.Errorf("hunt: nothing is tried: process %s reconciled nothing in the run without faults: %s", process, text))
	}
	if len(all) == 0 && len(o.Sites) == 0 {
		return errors.New("hunt: nothing is tried: the run without faults reached no site: no process wrote anything or saw anything change")
	}
	return errors.Join(all...)
}
