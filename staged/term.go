package staged

import (
	"strings"

	"github.com/stagecraft-go/stagecraft/staged/internal/eval"
)

// A term is a part of a condition that must be true by itself.
type term struct {
	eval.Part
	whole       *eval.Program // nil if the part cannot be compiled alone
	left, right *eval.Program // of a comparison
}

// terms compiles the parts of a condition, for explanations. A part whose text cannot be had is left out.
func (c *compiler) terms(condition *eval.Program) []term {
	var terms []term
	for _, part := range condition.Conjuncts() {
		t := term{Part: part}
		for source, into := range map[string]**eval.Program{part.Text: &t.whole, part.Left: &t.left, part.Right: &t.right} {
			if p, err := c.env.condition.Compile(source); err == nil {
				*into = p
			}
		}
		if t.whole != nil {
			terms = append(terms, t)
		}
	}
	return terms
}

// wants says what the term asks for.
func (t term) wants() string {
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
