package staged

import (
	"strings"

	"github.com/stagecraft-go/stagecraft/staged/internal/eval"
)

// A conjunct is a part of a condition that must be true by itself: the parts are joined by &&.
type conjunct struct {
	eval.Part
	whole       *eval.Program // nil if the part cannot be compiled alone
	left, right *eval.Program // of a comparison
}

// conjuncts compiles the parts of a condition, for explanations. A part whose source text is not
// known is left out.
func (c *compiler) conjuncts(condition *eval.Program) []conjunct {
	var all []conjunct
	for _, part := range condition.Conjuncts() {
		t := conjunct{Part: part}
		for source, into := range map[string]**eval.Program{part.Text: &t.whole, part.Left: &t.left, part.Right: &t.right} {
			if p, err := c.env.condition.Compile(source); err == nil {
				*into = p
			}
		}
		if t.whole != nil {
			all = append(all, t)
		}
	}
	return all
}

// wants says what the conjunct asks for.
func (t conjunct) wants() string {
	switch {
	case t.Operator == "==":
		return t.Right
	case t.Operator != "":
		return t.Operator + " " + t.Right
	case len(t.Wants) > 0:
		return strings.Join(t.Wants, ", ")
	}
	return t.Text
}
