package staged

import "math"

// A budget is what the evaluations of one decision may still cost.
type budget struct {
	limit, left uint64
	exceeded    bool // an object was not evaluated
	reuse       bool // the last decision has exceeded its budget: what it found still counts for a while
}

func newBudget(limit uint64) *budget {
	if limit == 0 {
		limit = math.MaxUint64
	}
	return &budget{limit: limit, left: limit}
}

// spend takes the cost of an evaluation out of the budget.
func (b *budget) spend(cost uint64) { b.left -= min(b.left, cost) }
