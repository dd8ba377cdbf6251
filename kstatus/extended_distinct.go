package kstatus

// dropDuplicates keeps one condition of each type, the worst. Types are unique in a well-formed list;
// where they are not, the order of the list must not decide.
func (o *Object) dropDuplicates() {
	if !hasDuplicates(o.conditions) {
		return
	}
	var kept []any
	index := map[string]int{}
	for _, item := range o.conditions {
		c, ok := viewOf(item)
		if !ok || c.isAugmented() {
			kept = append(kept, item)
			continue
		}
		i, seen := index[c.kind]
		if !seen {
			index[c.kind] = len(kept)
			kept = append(kept, item)
			continue
		}
		if before, _ := viewOf(kept[i]); c.isWorse(&before) {
			kept[i] = item
		}
	}
	skipped := o.skipped
	o.decisive = 0
	o.setConditions(kept)
	o.skipped = skipped
}

// fewConditions is how many conditions are compared with each other. More are compared by a map.
const fewConditions = 16

func hasDuplicates(conditions []any) bool {
	if len(conditions) > fewConditions {
		return true // dropDuplicates finds out
	}
	for i, item := range conditions {
		c, ok := viewOf(item)
		for _, other := range conditions[:i] {
			if d, also := viewOf(other); ok && also && c.kind == d.kind {
				return true
			}
		}
	}
	return false
}

// isWorse orders conditions of one type.
func (c *conditionView) isWorse(than *conditionView) bool {
	if a, b := c.badness(), than.badness(); a != b {
		return a > b
	}
	if a, b := isError(c.reason()), isError(than.reason()); a != b {
		return a
	}
	if a, b := c.changed(), than.changed(); a != b {
		return a > b
	}
	return c.comesBefore(than)
}

// changed is the time of the last change, as text: RFC 3339 in UTC, so that strings compare like
// times.
func (c *conditionView) changed() string {
	s, _ := c.fields["lastTransitionTime"].(string)
	return s
}

func (c *conditionView) badness() int {
	if e, counts := c.effect(roleOf(c.kind)); counts {
		return badness[effectStatuses[e]]
	}
	return 0
}
