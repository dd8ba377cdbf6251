package fit

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// Options of [Fit]. The zero value is usable.
type Options struct {
	// Least is how many samples a transition needs to be fitted. Default 30.
	Least int
	// Complete says that the log has all objects from their creation on, like the log of a
	// simulation or of an empty cluster. Otherwise the objects of its first moment existed before,
	// so that their first samples are not known.
	Complete bool
	// Stages are Stages whose delays are fitted, where the log names them.
	Stages []stage.Source
	// Versions are the versions of kinds, such as "Widget.example.com": "v1alpha1". Default v1.
	Versions map[string]string
}

// A Result is the transitions of a log and the Stages that were derived from them.
type Result struct {
	Transitions []Transition // ordered by kind, from, to and Stage
	States      []State      // ordered by kind and name
	Stages      []v1alpha1.Stage
}

// A State is a state that objects left, or were in at the end of the log.
type State struct {
	Kind, Name string
	Left       int // samples of all its transitions
	CutOff     int // objects that were in it at the end of the log
	Unknown    int // steps of objects that entered it at an unknown time
}

// A Transition is one way from a state to another.
type Transition struct {
	Kind, From, To string
	Stage          string // the Stage in the log; "" without one
	Samples        int    // including held-out samples
	Fitted         string // the name of the derived Stage; "" without one
	NotFitted      string // why no Stage was derived

	// Of fitted transitions.
	HeldOut  int
	Distance float64 // of the held-out samples from the quantiles
	Chance   float64 // if nothing is wrong, Distance exceeds this with a probability of 5 %

	quantiles []time.Duration // at the percents
}

// Quantile is the delay that a part of the samples, from 0 to 1, does not exceed; 0 if the
// transition is not fitted.
func (t Transition) Quantile(part float64) time.Duration {
	if len(t.quantiles) == 0 {
		return 0
	}
	return quantile(t.quantiles, part)
}

// maxErrors is how many faults of a log are reported.
const maxErrors = 10

// Fit derives Stages from a log, as package record reads it. The error joins at most ten faults:
// faults of the reader, which name file and line, and records that contradict earlier ones.
func Fit(log iter.Seq2[record.Record, error], o Options) (*Result, error) {
	o.Least = cmp.Or(o.Least, 30)
	c := newCollector(o.Complete)
	var faults []error
	for r, err := range log {
		if err == nil {
			err = c.add(r)
		}
		if err != nil {
			faults = append(faults, err)
		}
		if len(faults) == maxErrors {
			break
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	result := &Result{States: c.finish()}
	for _, key := range slices.SortedFunc(keysOf(c.samples), compareTransitions) {
		result.Transitions = append(result.Transitions, transition(key, c.samples[key]))
	}
	w := newWriter(o)
	for i := range result.Transitions {
		t := &result.Transitions[i]
		if t.Samples < o.Least {
			t.NotFitted = fmt.Sprintf("%d samples, fewer than %d", t.Samples, o.Least)
			t.quantiles, t.HeldOut, t.Distance, t.Chance = nil, 0, 0, 0
			continue
		}
		w.write(t)
	}
	result.Stages = w.stages
	return result, nil
}

// A transitionKey identifies a transition.
type transitionKey struct{ kind, from, to, stage string }

func compareTransitions(a, b transitionKey) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.stage, b.stage))
}

// transition fits the samples, which are in the order of the log.
func transition(key transitionKey, samples []time.Duration) Transition {
	var used, held []time.Duration
	for i, d := range samples {
		if i%3 == 2 {
			held = append(held, d)
		} else {
			used = append(used, d)
		}
	}
	slices.Sort(used)
	slices.Sort(held)
	t := Transition{Kind: key.kind, From: key.from, To: key.to, Stage: key.stage, Samples: len(samples), HeldOut: len(held)}
	t.quantiles = quantiles(used)
	if len(held) > 0 {
		t.Distance, t.Chance = distance(t.quantiles, held), chance(len(used), len(held))
	}
	return t
}
