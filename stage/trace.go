package stage

import (
	"strconv"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/printable"
)

// TraceEvent is one thing that an [Engine] or a player.Player did. Fields that do not belong to its Kind
// are zero.
type TraceEvent struct {
	Time time.Time // the time given to the engine, or the time of the player
	Kind TraceKind
	Key  Key

	ResourceVersion string    // TraceObserved: of the object
	Stage           string    // the name; in all kinds except TraceObserved and TraceForgotten
	N               uint64    // TraceScheduled, TracePlayed: the number of this entry of the object, from 0
	Due             time.Time // TraceScheduled, TracePlayed, TraceEffected: when the transition is or was due
	Weight          int64     // TraceScheduled: of the Stage; -1 without a weight
	Random          uint64    // TraceScheduled: the number that chose the delay
	Index           int       // TraceEffected, TraceFailed: index of the effect in the transition, counted over all its steps
	Effect          Effect    // TraceEffected, TraceFailed
	NoOp            bool      // TraceEffected: the effect is a patch that would change nothing, and was not sent
	Err             error     // TraceFailed; TraceEffected: a failure that is retried
}

// TraceKind says what happened.
type TraceKind int

// The kinds of TraceEvent.
const (
	TraceObserved  TraceKind = iota // an object was looked at
	TraceScheduled                  // a Stage was entered
	TraceCancelled                  // the Stage no longer matches; nothing will be played
	TracePlayed                     // the delay is over; the effects follow
	TraceEffected                   // an effect was carried out
	TraceFailed                     // the transition or the object cannot go on
	TraceForgotten                  // the object is gone
)

var traceKinds = [...]string{"observed", "scheduled", "cancelled", "played", "effect", "failed", "forgotten"}

// String prints the kind in lower case.
func (k TraceKind) String() string {
	if k < 0 || int(k) >= len(traceKinds) {
		return "TraceKind(" + strconv.Itoa(int(k)) + ")"
	}
	return traceKinds[k]
}

// String prints the event in one line, without its time and without resourceVersions, which differ
// from run to run.
func (e TraceEvent) String() string {
	words := []string{e.Kind.String(), e.Key.String()}
	if e.Stage != "" {
		words = append(words, printable.Text(e.Stage))
	}
	switch e.Kind {
	case TraceScheduled:
		words = append(words, "n="+strconv.FormatUint(e.N, 10), "weight="+strconv.FormatInt(e.Weight, 10),
			"random="+strconv.FormatUint(e.Random, 16), "in="+e.Due.Sub(e.Time).String())
	case TraceEffected:
		words = append(words, printable.Text(e.Effect.String()))
	}
	if e.NoOp {
		words = append(words, "(changes nothing)")
	}
	if e.Err != nil {
		words = append(words, "error: "+printable.Error(e.Err))
	}
	return strings.Join(words, " ")
}
