package selector

import (
	"cmp"
	"slices"

	"github.com/stagecraft-go/stagecraft/internal/expr"
)

// A Family is Selectors that look at the same objects, such as those of all Stages for one kind. It decides what each of them decides alone, with
// less work: a requirement that several have is evaluated once for an object, and cheap ones come first. Requirements do not see one another, so
// their order cannot be told from the result. A Family is immutable and safe for concurrent use.
type Family struct {
	members [][]check // of each Selector; nil: matches nothing
}

// A check is a requirement as a Selector of a Family has it.
type check struct {
	requirement
	negated bool // the Selector wants the contrary
	place   int  // of the answer in a Look, if others want it too; else alone
	users   int  // how many want it
	work    expr.Work
}

// places is how many answers a Look keeps, alone the place of those that it does not keep.
const (
	places = 64
	alone  = -1
)

// NewFamily makes a Family of Selectors, which are known by their index from then on.
func NewFamily(selectors ...*Selector) *Family {
	q := questions{asked: map[string]*check{}}
	for _, s := range selectors {
		for _, r := range s.requirements {
			q.ask(r)
		}
	}
	f := &Family{members: make([][]check, len(selectors))}
	for i, s := range selectors {
		f.members[i] = q.checks(s)
	}
	return f
}

// questions are what the requirements of a Family ask, each with the requirement that asked first.
type questions struct {
	asked  map[string]*check
	places int // taken
}

// ask notes that a requirement is in use.
func (q *questions) ask(r requirement) {
	s := r.sharing()
	c := q.asked[s.question]
	if c == nil {
		c = &check{requirement: r, negated: s.negated, place: alone, work: s.work}
		q.asked[s.question] = c
	}
	if c.users++; c.users == 2 && s.question != "" && q.places < places {
		c.place = q.places
		q.places++
	}
}

// checks are the requirements of a Selector, little work first, and of equal work those that others have too.
func (q *questions) checks(s *Selector) []check {
	if s.requirements == nil {
		return nil
	}
	checks := make([]check, len(s.requirements))
	for i, r := range s.requirements {
		checks[i] = q.check(r)
	}
	slices.SortStableFunc(checks, func(a, b check) int {
		return cmp.Or(cmp.Compare(a.work, b.work), cmp.Compare(b.users, a.users))
	})
	return checks
}

func (q *questions) check(r requirement) check {
	s := r.sharing()
	if s.question == "" {
		return check{requirement: r, place: alone, work: s.work}
	}
	c := *q.asked[s.question]
	c.negated = c.negated != s.negated
	return c
}

// A Look is one object, seen by the Selectors of a Family at one moment. It keeps the answers that several of them want. It must not be used from
// several goroutines at once.
type Look struct {
	family       *Family
	scope        *expr.Scope
	known, holds uint64 // bits, by place
}

// Look prepares an object. While the Look is in use, nothing of the scope may change but its Seed.
func (f *Family) Look(s *expr.Scope) Look { return Look{family: f, scope: s} }

// Match reports whether the object meets the i-th Selector.
func (l *Look) Match(i int) bool {
	checks := l.family.members[i]
	for j := range checks {
		if c := &checks[j]; l.answer(c) == c.negated {
			return false
		}
	}
	return checks != nil
}

func (l *Look) answer(c *check) bool {
	if c.place == alone {
		return c.holds(l.scope)
	}
	bit := uint64(1) << c.place
	if l.known&bit == 0 {
		l.known |= bit
		if c.holds(l.scope) {
			l.holds |= bit
		}
	}
	return l.holds&bit != 0
}
