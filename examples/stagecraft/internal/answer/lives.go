package answer

import (
	"context"
	"fmt"
	"strings"

	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/manifests"
	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/stages"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/diagram"
	"github.com/stagecraft-go/stagecraft/stage/explore"
)

// An Explanation says which Stages apply to an object, and why.
type Explanation struct {
	stages.Explanation
	Summary string `json:"summary"` // what is next, in one line
	Text    string `json:"text"`    // everything, as stagecraft explain prints it
}

// lives answers a part about Stages and objects.
func (r Request) lives(ctx context.Context) (Answer, error) {
	source, objects := stage.Parse(StagesFile, []byte(r.Stages)), stage.Parse(ObjectsFile, []byte(r.Objects))
	in := stages.Input{Sources: []stage.Source{source}}
	in.Add(source, objects)
	if n := len(in.Objects) + len(in.Others); n > MaxObjects {
		return Answer{}, fmt.Errorf("%d objects are more than %d: use the command stagecraft", n, MaxObjects)
	}
	if r.Part == PartLint {
		return Answer{Faults: r.faults(in.Lint()...)}, nil
	}
	set, err := stage.Compile(stage.Options{Extensions: r.Extensions}, source)
	_, fault := manifests.Of(objects)
	a := Answer{Faults: append(r.faults(stages.Faults(err)...), r.faultsOf(fault)...)}
	if len(objects.Stages()) > 0 {
		place := objects.Locate(0, "", -1)
		a.Faults = append(a.Faults, r.faults(stages.Finding{File: place.File, Line: place.Line, Column: place.Column, Rule: "fault",
			Message: "a Stage among the objects is not played: move it to the Stages"})...)
	}
	switch {
	case err != nil || fault != nil:
		return a, nil
	case r.Part == PartLives:
		return a, ended(ctx, r.allLives(ctx, &a, set, in))
	}
	return a, ended(ctx, a.explain(ctx, set, in))
}

// explain adds what is next for each object.
func (a *Answer) explain(ctx context.Context, set *stage.Set, in stages.Input) error {
	if len(in.Objects)+len(in.Others) == 0 {
		return nil
	}
	explanations, err := in.Explain(ctx, set, in.Options())
	for _, e := range explanations {
		text := e.String()
		summary, _, _ := strings.Cut(text, "\n")
		a.Explanations = append(a.Explanations, Explanation{stages.Explained(e), summary, text})
	}
	return err
}

// allLives adds a run and all lives, or draws the Stages without an object.
func (r Request) allLives(ctx context.Context, a *Answer, set *stage.Set, in stages.Input) error {
	if len(in.Objects) == 0 {
		a.draw(diagram.FromStages(in.Stages()))
		return nil
	}
	o := in.Options()
	if r.Delete {
		o.Actions = []explore.Action{explore.Delete()}
	}
	o.MaxStates, o.MaxBytes = MaxStates, 8<<20
	graph, err := explore.Explore(ctx, set, o, in.Objects...)
	if err == nil {
		err = a.addLives(in, graph, o)
	}
	if err == nil {
		a.Run, err = r.run(ctx, set, in, graph)
	}
	return err
}

// addLives adds the lives, the picture and the times.
func (a *Answer) addLives(in stages.Input, graph *explore.Graph, o explore.Options) error {
	a.draw(diagram.FromGraph(graph, diagram.Options{Stages: in.Stages()}))
	lives := stages.LivesOf(graph)
	for i := range lives.States {
		lives.States[i].Value = nil // the run has the objects
	}
	a.Lives = &lives
	if graph.Truncated() {
		a.Notes = append(a.Notes, fmt.Sprintf("only %d states were followed, so that the times are unknown", len(graph.States)))
		return nil
	}
	for _, word := range []string{"Current", "Ready", "gone"} {
		target, err := stages.TargetOf(word, o.Start)
		if err != nil {
			return err
		}
		for _, start := range graph.Starts {
			times, err := graph.TimeTo(target, explore.TimeOptions{From: start, Seed: 1})
			if err != nil {
				return err
			}
			if times.Reach > 0 {
				a.Times = append(a.Times, stages.TimesOf(graph.States[start].Key.String(), word, times))
			}
		}
	}
	return nil
}

// draw adds a picture.
func (a *Answer) draw(d *diagram.Diagram) {
	if len(d.Boxes) > MaxBoxes {
		a.Notes = append(a.Notes, fmt.Sprintf("%d states are too many for a picture: use stagecraft diagram -o dot", len(d.Boxes)))
		return
	}
	a.Diagram = string(d.SVG())
}
