package player

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// check returns each fault of the arguments of a Player with which it could never play.
func (p *Player) check() error {
	var faults []error
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf("player: "+format, args...)) }
	if p.transport == nil {
		add("no transport")
	}
	switch n := p.options.Workers; {
	case n < 1:
		add("Options.Workers is %d", n)
	case len(p.workers) == 0:
		add("no Set")
	}
	for _, kind := range slices.SortedFunc(maps.Keys(p.options.Select), compareKinds) {
		s := p.options.Select[kind]
		if _, err := labels.Parse(s.Labels); err != nil {
			add("Options.Select of %s %s: labels: %v", kind.GroupVersion(), kind.Kind, err)
		}
		if _, err := fields.ParseSelector(s.Fields); err != nil {
			add("Options.Select of %s %s: fields: %v", kind.GroupVersion(), kind.Kind, err)
		}
	}
	if p.ran.Swap(true) {
		add("Run was called before: a Player may be run once")
	}
	return errors.Join(faults...)
}
