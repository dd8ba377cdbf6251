package bench

import (
	"encoding/json"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
)

// Stagecraft is the side of package stage. It is safe for concurrent use.
type Stagecraft struct{ Set *stage.Set }

// NewStagecraft compiles the Stages of a case from their text.
func NewStagecraft(c Case, funcs map[string]any) (*Stagecraft, error) {
	set, err := stage.Compile(stage.Options{Lenient: c.Lenient, Funcs: funcs}, stage.Parse("stages.yaml", c.Text()))
	return &Stagecraft{Set: set}, err
}

// Outcome is the decision of package stage on the object.
func (s *Stagecraft) Outcome(obj *unstructured.Unstructured) Outcome {
	var o Outcome
	candidates := map[string]stage.Candidate{}
	for _, c := range s.Set.Candidates(obj, Now) {
		candidates[c.Stage] = c
		if c.Probability > 0 {
			o.Possible = append(o.Possible, c.Stage)
		}
	}
	for _, name := range s.Set.Stages(obj.GroupVersionKind()) {
		v := StageOutcome{Stage: name, Match: "false"}
		if c, ok := candidates[name]; ok {
			v = stageOutcome(c, obj)
		}
		o.Stages = append(o.Stages, v)
	}
	return o
}

func stageOutcome(c stage.Candidate, obj *unstructured.Unstructured) StageOutcome {
	v := StageOutcome{Stage: c.Stage, Match: "true", Weight: "none", Delay: "none"}
	if c.Weighted {
		v.Weight = strconv.FormatInt(c.Weight, 10)
	}
	if c.Delay.Given {
		v.Delay = durations(c.Delay.Min)
	}
	if c.Delay.Max > c.Delay.Min {
		v.Delay = durations(c.Delay.Min, c.Delay.Max)
	}
	effects, err := c.Transition(0).Effects(obj, Now)
	if err != nil {
		v.Failed = err.Error()
	}
	for _, e := range effects {
		v.Effects = append(v.Effects, effect(e))
	}
	return v
}

func effect(e stage.Effect) Effect {
	switch e := e.(type) {
	case stage.Event:
		return Effect{Kind: "event", Type: e.Type, Data: e.Reason + ": " + e.Message}
	case stage.Patch:
		return Effect{"patch", string(e.Type), e.Subresource, e.Impersonate, decodePlain(e.JSON())}
	case stage.Apply:
		return Effect{"apply", string(e.Type), e.Subresource, e.Impersonate, decodePlain(encode(e.Object.Object))}
	default:
		return Effect{Kind: "delete"}
	}
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return []byte(err.Error())
	}
	return data
}

// Match decides which Stage is next for the object, and when. It returns the number of Stages: 0 or
// 1.
func (s *Stagecraft) Match(obj *unstructured.Unstructured) (int, error) {
	if _, ok := s.Set.Next(obj, Now, 1, 0); !ok {
		return 0, nil
	}
	return 1, nil
}

// Whole decides, and renders the requests. It returns the number of bytes.
func (s *Stagecraft) Whole(obj *unstructured.Unstructured) (int, error) {
	t, ok := s.Set.Next(obj, Now, 1, 0)
	if !ok {
		return 0, nil
	}
	effects, err := t.Effects(obj, Now)
	size := 0
	for _, e := range effects {
		switch e := e.(type) {
		case stage.Patch:
			size += len(e.JSON())
		case stage.Apply:
			size += len(encode(e.Object.Object))
		}
	}
	return size, err
}
