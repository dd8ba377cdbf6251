package stage

import (
	"github.com/stagecraft-go/stagecraft/internal/expr"
	"github.com/stagecraft-go/stagecraft/internal/random"
)

// A lottery draws among the Stages that match one object.
//
// If no Stage gives a weight, all have the same chance. If the weights that are given sum to 0, those Stages have the
// same chance and the others none. Else the chance is proportional to the weight.
type lottery struct {
	shares []share
	draws  draws
	given  int    // how many gave a weight
	sum    uint64 // of their weights
}

// A share is what one Stage has in a lottery.
type share struct {
	stage  *compiled
	weight int64
	given  bool
}

// weigh reads the weights from the object.
func (l *lottery) weigh(scope *expr.Scope) {
	for i := range l.shares {
		sh := &l.shares[i]
		scope.Seed = l.draws.eval(sh.stage.salt)
		r := sh.stage.weight.read(scope)
		sh.weight, sh.given = r.Value, r.Given
		if sh.given {
			l.given++
			l.sum += uint64(sh.weight)
		}
	}
}

// draw weighs the Stages and chooses one. Where there is only one, nothing needs to be weighed or drawn.
func (l *lottery) draw(scope *expr.Scope) *compiled {
	if len(l.shares) == 1 {
		return l.shares[0].stage
	}
	l.weigh(scope)
	return l.choose(l.draws.choice())
}

// tickets is how many of the total a share holds.
func (l *lottery) tickets(i int) uint64 {
	switch sh := l.shares[i]; {
	case l.given == 0:
		return 1
	case !sh.given:
		return 0
	case l.sum == 0:
		return 1
	default:
		return uint64(sh.weight)
	}
}

func (l *lottery) total() uint64 {
	switch {
	case l.given == 0:
		return uint64(len(l.shares))
	case l.sum == 0:
		return uint64(l.given)
	default:
		return l.sum
	}
}

func (l *lottery) probability(i int) float64 {
	return float64(l.tickets(i)) / float64(l.total())
}

// choose returns the Stage that a random number falls on.
func (l *lottery) choose(drawn uint64) *compiled {
	at := random.Below(drawn, l.total())
	for i := range l.shares {
		n := l.tickets(i)
		if at < n {
			return l.shares[i].stage
		}
		at -= n
	}
	return nil // not reached: the tickets sum to the total
}

// has reports whether a Stage can win.
func (l *lottery) has(st *compiled) bool {
	for i := range l.shares {
		if l.shares[i].stage == st {
			return l.tickets(i) > 0
		}
	}
	return false
}
