package wait

import "time"

// Culprit returns the object that holds the wait up: one that Failed, else one that is missing for
// too long or timed out, else one that is still waited for; of several, the one that has been so for
// the longest. It returns false if every object has reached its goal.
func (c *Collector) Culprit() (culprit State, found bool) {
	for s := range c.Open() {
		if !found || s.rank() < culprit.rank() || s.rank() == culprit.rank() && s.Since.Before(culprit.Since) {
			culprit, found = s, true
		}
	}
	return culprit, found
}

// headline returns the counts, and which object holds the wait up.
func headline(c *Collector, now time.Time) string {
	text := counts(c.Progress())
	if s, found := c.Culprit(); found && !s.isUnseen() {
		text += "; waiting for " + s.Ref.String()
		if d := now.Sub(s.Since).Round(time.Second); d > 0 {
			text += ", " + string(s.Result.Status) + " for " + d.String()
		}
	}
	return text
}

// mark is how far an object is, as one character.
func (s State) mark() string {
	switch s.phase {
	case reached:
		return "✓ "
	case failed, failing, missing, timedOut:
		return "✗ "
	}
	return "· "
}

// Summary returns what to say at the end of a wait: that all is done, or first which object holds it
// up and why, and then the others that are not done, a line for each.
func (c *Collector) Summary(now time.Time) string {
	culprit, found := c.Culprit()
	if !found {
		return counts(c.Progress())
	}
	text := "held up by " + describe(culprit, now)
	for s := range c.Open() {
		if s.Ref != culprit.Ref {
			text += "\n  also " + describe(s, now)
		}
	}
	return text + "\n" + counts(c.Progress())
}
