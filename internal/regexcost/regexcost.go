// Package regexcost estimates what regular expressions cost before they are compiled, for the
// budgets of jq, CEL and templates. The unit is one state of the automaton looked at for one byte
// of text, about 5 ns.
//
// # Concurrency
//
// Its functions may be called from several goroutines at once.
package regexcost

import (
	"regexp/syntax"
	"strings"
)

const (
	perByte  = 16    // of parsing
	perClass = 8_000 // of parsing \pL, which has 1,300 bounds
	perState = 32    // of compiling
)

// Parse returns the cost of parsing a pattern, computed only from its text.
func Parse(pattern string) int {
	return perByte*len(pattern) + perClass*(strings.Count(pattern, `\p`)+strings.Count(pattern, `\P`))
}

// States returns the approximate number of states of a pattern, which is the cost of a search per
// byte of text. It returns 1 for an invalid pattern. A call of States costs the result of Parse.
func States(pattern string) int {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 1
	}
	return states(re)
}

// Compile returns the cost of compiling a pattern with the number of states.
func Compile(states int) int { return perState * states }

func states(re *syntax.Regexp) int {
	n := 1
	switch re.Op {
	case syntax.OpLiteral:
		return 1 + len(re.Rune)
	case syntax.OpCapture, syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		n = 2
	}
	for _, sub := range re.Sub {
		n += states(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= 1 + max(re.Min, re.Max)
	}
	return n
}
