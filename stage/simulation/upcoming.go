package simulation

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// Upcoming says in one line what happens at the time of [Simulation.Next], and why: which Stage is
// played on which object, or which controller reconciles which object. It names the first of
// several actions at the same time. It returns "" if nothing will happen.
func (s *Simulation) Upcoming() string {
	at, ok := s.Next()
	if !ok {
		return ""
	}
	if len(s.hooks.queued) > 0 {
		return "a function of Simulation.On is called"
	}
	if when, ok := s.calls.Next(); ok && !when.After(at) {
		return "a function of Simulation.At is called"
	}
	kubelets := earliest{}
	if s.clients.next(&kubelets); kubelets.ok && !kubelets.at.After(at) {
		return "a request of a kubelet takes effect"
	}
	if e, ok := s.engine.Upcoming(); ok && !e.Due.After(at) {
		return fmt.Sprintf("Stage %q is played on %s", e.Stage, e.Key)
	}
	if when, ok := s.nextCollection(); ok && !when.After(at) {
		return "garbage is collected"
	}
	return s.upcomingReconcile()
}

func (s *Simulation) upcomingReconcile() string {
	loop, _ := s.nextLoop()
	if loop == nil {
		return ""
	}
	e, ok := loop.Upcoming()
	if !ok {
		return "a controller sees a change, or its request takes effect"
	}
	return fmt.Sprintf("controller %q reconciles %s%s%s", e.Controller, s.kindOf(e.Controller), e.Name, reason(e))
}

// kindOf returns the kind of the objects of a controller, followed by a space.
func (s *Simulation) kindOf(controller string) string {
	for _, c := range s.options.Controllers {
		if c.Name == controller {
			return c.For.Kind + " "
		}
	}
	return ""
}

// reason says why a controller looks at an object again.
func reason(last reconcile.TraceEvent) string {
	switch {
	case last.Err != nil:
		return " again, because it failed: " + firstLine(last.Err)
	case last.Result.After > 0:
		return fmt.Sprintf(" again, because it asked for that after %s", last.Result.After)
	}
	return ", because something has changed"
}

// firstLine returns the first line of an error, without control characters.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, line)
}
