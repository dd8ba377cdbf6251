package parts

import (
	"cmp"
	"slices"

	"github.com/stagecraft-go/stagecraft/internal/expression"
)

// A SelectorGroup is Selectors for the same objects, for example of all Stages for one kind. Its
// results are the same as each Selector's, with less work: a requirement that several Selectors
// share is evaluated once for an object. This makes matching about twice as fast. A SelectorGroup
// is immutable and safe for concurrent use.
type SelectorGroup struct{ members [][]check }

// A check is a requirement of a Selector in a SelectorGroup.
type check struct {
	requirement
	users int    // the number of Selectors that have it
	bit   uint64 // its place in Answers; 0 if its answer is not kept
}

// Answers are the known results of requirements for one object. The zero value has no result.
type Answers struct{ known, holds uint64 }

// NewSelectorGroup makes a SelectorGroup of Selectors. Match takes the index of a Selector.
func NewSelectorGroup(selectors ...*Selector) *SelectorGroup {
	users := map[string]int{}
	for _, s := range selectors {
		for _, r := range s.requirements {
			users[r.key()]++
		}
	}
	g, bits, next := &SelectorGroup{}, map[string]uint64{"": 0}, uint64(1)
	for _, s := range selectors {
		var checks []check // nil: matches nothing
		if s.requirements != nil {
			checks = []check{}
		}
		for _, r := range s.requirements {
			key := r.key()
			if _, known := bits[key]; !known && users[key] > 1 {
				bits[key] = next
				next <<= 1 // 0 after 64 of them: further answers are not kept
			}
			checks = append(checks, check{r, users[key], bits[key]})
		}
		// Requirements are independent, so their order does not change the result.
		slices.SortStableFunc(checks, func(a, b check) int {
			return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(b.users, a.users))
		})
		g.members = append(g.members, checks)
	}
	return g
}

// Match reports whether an object meets the i-th Selector. The answers must be on the same object
// at the same time.
func (g *SelectorGroup) Match(i int, scope *expression.Scope, known *Answers) bool {
	checks := g.members[i]
	for j := range checks {
		if !checks[j].answer(scope, known) {
			return false
		}
	}
	return checks != nil
}

func (c *check) answer(scope *expression.Scope, a *Answers) bool {
	if c.bit == 0 {
		return c.holds(scope)
	}
	if a.known&c.bit == 0 {
		a.known |= c.bit
		if c.holds(scope) {
			a.holds |= c.bit
		}
	}
	return a.holds&c.bit != 0
}
