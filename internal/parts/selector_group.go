package parts

import (
	"cmp"
	"slices"

	"github.com/stagecraft-go/stagecraft/internal/expression"
)

// A SelectorGroup is Selectors for the same objects, such as those of all Stages for one kind. It decides
// what each of them decides alone, with less work: a requirement that several have is evaluated
// once for an object, which makes matching about twice as fast. It is immutable and safe for
// concurrent use.
type SelectorGroup struct{ members [][]check }

// A check is a requirement of a Selector in a SelectorGroup.
type check struct {
	requirement
	users int    // how many Selectors have it
	bit   uint64 // its place in Answers; 0 if its answer is not kept
}

// Answers are those on one object that are known already. The zero value knows none.
type Answers struct{ known, holds uint64 }

// NewSelectorGroup makes a SelectorGroup of Selectors, which are known by their index from then on.
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
		// Requirements do not see one another, so their order cannot be told from the result.
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
