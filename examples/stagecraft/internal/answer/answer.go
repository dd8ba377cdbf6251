// Package answer is the page to play with, without the page: a request as JSON in, an answer as JSON out.
//
// # Usage
//
//	answer := answer.To(ctx, []byte(`{"view": "status", "objects": "{apiVersion: v1, kind: Pod, …}"}`))
//
// # Semantics
//
// A request has the texts of the page. A text that is too long is a fault, and so is every other fault of a text,
// with the place in the text that the page selects. The answer has what the view shows. [View] lists the views.
//
// The work for a request is limited by the constants of this package, and ends with an error when ctx ends.
//
// # Determinism
//
// The same request gives the same answer, byte for byte. The package reads no clock: a request has the time.
//
// # Concurrency
//
// To is safe for concurrent use.
package answer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/stages"
)

// What the page takes and shows at most.
const (
	MaxText    = 256 << 10 // bytes of a text
	MaxFaults  = 100       // faults that are shown
	MaxObjects = 100       // objects of a text
	MaxStates  = 300       // states that are explored
	MaxBoxes   = 100       // boxes of a picture
	MaxMoments = 300       // moments of a run
	MaxRun     = 1 << 20   // bytes of the objects of a run
	MaxEntries = 2000      // entries of a rehearsal
)

// A View is a part of the page.
type View string

// The views.
const (
	ViewLives   View = "lives"   // Stages and objects: faults, what is next, a run, all lives
	ViewStatus  View = "status"  // the status of objects, and why
	ViewRollout View = "rollout" // a rehearsal of policies
)

// A Part is a part of the answer of ViewLives. The page asks for one part after another, so that the first comes soon.
type Part string

// The parts.
const (
	PartNext  Part = "next"  // faults, and what is next
	PartLives Part = "lives" // a run and all lives
	PartLint  Part = "lint"  // what compiles but cannot be meant
)

// A Request is what the user has written, and chosen.
type Request struct {
	View       View      `json:"view"`
	Part       Part      `json:"part"`    // ViewLives
	Stages     string    `json:"stages"`  // ViewLives
	Objects    string    `json:"objects"` // ViewLives, ViewStatus
	Rollout    string    `json:"rollout"` // ViewRollout
	Extensions bool      `json:"extensions"`
	Delete     bool      `json:"delete"` // a user may delete the object, in any state
	Seed       uint64    `json:"seed"`
	Now        time.Time `json:"now"` // ViewStatus
}

// An Answer is what the page shows. Parts that a view does not have are missing.
type Answer struct {
	Faults []Fault `json:"faults"`
	Error  string  `json:"error,omitempty"` // why there is nothing else

	Explanations []Explanation  `json:"explanations,omitempty"`
	Diagram      string         `json:"diagram,omitempty"` // SVG
	Lives        *stages.Lives  `json:"lives,omitempty"`
	Times        []stages.Times `json:"times,omitempty"`
	Run          *Run           `json:"run,omitempty"`
	Notes        []string       `json:"notes,omitempty"` // what was left out, and why
	Statuses     []Status       `json:"statuses,omitempty"`
	Rollouts     []Rollout      `json:"rollouts,omitempty"`
}

// To answers a request.
func To(ctx context.Context, request []byte) (answer []byte) {
	var r Request
	var a Answer
	defer func() {
		if p := recover(); p != nil {
			answer, _ = json.Marshal(Answer{Error: fmt.Sprintf("a bug of stagecraft, please report it: %v", p)}) // strings alone
		}
	}()
	err := json.Unmarshal(request, &r)
	if err == nil {
		a, err = answerTo(ctx, r)
	}
	if err != nil {
		a = Answer{Faults: a.Faults, Error: err.Error()}
	}
	if n := len(a.Faults); n > MaxFaults {
		a.Faults, a.Notes = a.Faults[:MaxFaults], append(a.Notes, fmt.Sprintf("these are the first %d of %d faults", MaxFaults, n))
	}
	answer, err = json.Marshal(a)
	if err != nil {
		answer, _ = json.Marshal(Answer{Error: err.Error()})
	}
	return answer
}

func answerTo(ctx context.Context, r Request) (Answer, error) {
	for name, text := range map[string]string{StagesFile: r.Stages, ObjectsFile: r.Objects, RolloutFile: r.Rollout} {
		if len(text) > MaxText {
			return Answer{}, fmt.Errorf("%s has %d bytes, more than %d: use the command stagecraft", name, len(text), MaxText)
		}
	}
	switch r.View {
	case ViewLives:
		return r.lives(ctx)
	case ViewStatus:
		return r.status(ctx)
	case ViewRollout:
		return r.rollout(ctx)
	}
	return Answer{}, fmt.Errorf("view %q: want %s, %s or %s", r.View, ViewLives, ViewStatus, ViewRollout)
}

// errTooLong is the error of work that was ended by its context.
var errTooLong = errors.New("this takes too long for a page: use the command stagecraft")

// ended replaces the error of a context that has ended.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errTooLong
	}
	return err
}
