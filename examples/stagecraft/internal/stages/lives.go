package stages

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/stage/explore"
)

// Lives are the states and transitions of a graph as data.
type Lives struct {
	States      []State      `json:"states"`
	Transitions []Transition `json:"transitions"`
	Findings    []string     `json:"findings,omitempty"`
}

// A State is an object, and other objects that its Stages changed, between two transitions.
type State struct {
	ID     int            `json:"id"`
	Object string         `json:"object"`
	Label  string         `json:"label"`
	Value  map[string]any `json:"value,omitempty"` // nil: the object is gone
}

// A Transition leads from one State to another by a Stage, or by the action of a user.
type Transition struct {
	From   int     `json:"from"`
	To     int     `json:"to"`
	Stage  string  `json:"stage,omitempty"`
	Action string  `json:"action,omitempty"`
	Chance float64 `json:"chance,omitempty"`
	Delay  string  `json:"delay,omitempty"`
	Error  string  `json:"error,omitempty"`
}

// LivesOf returns a graph as data.
func LivesOf(g *explore.Graph) Lives {
	l := Lives{Findings: g.Findings()}
	for _, s := range g.States {
		state := State{ID: s.ID, Object: s.Key.String(), Label: s.Label}
		if obj := s.Object(); obj != nil {
			state.Value = obj.Object
		}
		l.States = append(l.States, state)
	}
	for _, t := range g.Transitions {
		next := Transition{From: t.From, To: t.To, Stage: t.Stage, Action: t.Action, Chance: t.Chance}
		if t.Stage != "" {
			next.Delay = explore.FormatDelay(t.Delay)
		}
		if t.Err != nil {
			next.Error = t.Err.Error()
		}
		l.Transitions = append(l.Transitions, next)
	}
	return l
}

// targetWords are targets that may be written in any case. For a status field with such a name,
// write .status.ready, for example.
var targetWords = []string{string(kstatus.Current), "Ready", "deleting", "gone"}

// TargetOf reads a target: the targets of package explore, or Current in both profiles of kstatus.
func TargetOf(text string, start time.Time) (explore.Target, error) {
	if i := slices.IndexFunc(targetWords, func(w string) bool { return strings.EqualFold(w, text) }); i >= 0 {
		text = targetWords[i]
	}
	if text == string(kstatus.Current) {
		return func(s explore.State) bool { return s.Object() != nil && isCurrent(s.Object(), start.Add(s.Entered)) }, nil
	}
	return explore.ParseTarget(text)
}

func isCurrent(obj *unstructured.Unstructured, now time.Time) bool {
	for _, profile := range []*kstatus.Rules{kstatus.Extended(), kstatus.Standard()} {
		if profile.Compute(obj, now).Status != kstatus.Current {
			return false
		}
	}
	return true
}

// Times are how long an object takes to a target, as data. Durations are texts of Go.
type Times struct {
	Object  string            `json:"object"`
	Target  string            `json:"target"`
	Reached float64           `json:"reached"`
	Unknown float64           `json:"unknown,omitempty"`
	Times   map[string]string `json:"times,omitempty"` // min, mean, p50, p90, p99, max
	Samples int               `json:"samples,omitempty"`
}

// Quantiles are the quantiles of Times.
var Quantiles = []struct {
	Name  string
	Share float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}}

// TimesOf returns times as data.
func TimesOf(object, target string, t *explore.Times) Times {
	all := Times{Object: object, Target: target, Reached: t.Reach, Unknown: t.Unknown, Samples: t.Samples}
	if t.Reach == 0 {
		return all
	}
	all.Times = map[string]string{"min": t.Min.String(), "mean": t.Mean.String(), "max": Longest(t)}
	for _, q := range Quantiles {
		all.Times[q.Name] = t.Quantile(q.Share).String()
	}
	return all
}

// Longest prints the greatest of the times.
func Longest(t *explore.Times) string {
	if t.Max < 0 {
		return "unbounded"
	}
	return fmt.Sprint(t.Max)
}
