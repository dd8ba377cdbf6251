package hunt

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// maxTwinStory is how many lines of the twin are kept for a run.
const maxTwinStory = 20

// mark marks the write that is one too many compared with the twin, and keeps what the twin did from the write on
// that is missing here.
func (r *Run) mark(twin *Outcome) {
	here, there := effectsOf(r.writes), effectsOf(twin.writes)
	r.outcome.twin = twin
	if extra, ok := firstSurplus(here, there); ok {
		r.outcome.Story[extra.line].Text += "  <- the twin has one less of these"
	}
	here, there = effectsOf(r.writes[:r.outcome.ended]), effectsOf(twin.writes[:twin.ended]) // a restart makes up for it
	if missing, ok := firstSurplus(there, here); ok {
		r.outcome.missing = missing.line
		r.outcome.TwinStory = slices.Clone(twin.Story[missing.line:min(len(twin.Story), missing.line+maxTwinStory)])
		r.outcome.TwinStory[0].Text += "  <- missing in the run"
	}
}

// An effect is an effective write: what it has in common with others that do the same, and what it wrote.
type effect struct {
	like    Site
	content string
	line    int
}

// like is what writes have in common that do the same.
func (w write) like() Site {
	w.Nth, w.Process = 0, w.subject
	return w.Site
}

// effectsOf returns the effective writes, with contents that can be compared with those of other runs.
func effectsOf(writes []write) (all []effect) {
	c := canon{uids: map[string]string{}, names: map[string]string{}}
	lives := map[string]int{}
	for _, w := range writes {
		if w.stored != nil {
			c.learn(w.stored)
			c.learnOwners(w.stored, lives)
		}
	}
	for _, w := range writes {
		if !w.effective {
			continue
		}
		e := effect{like: w.like(), line: w.line}
		if w.stored != nil {
			e.content = string(must(object.AppendJSON(nil, c.object(w.stored))))
		}
		all = append(all, e)
	}
	return all
}

// learnOwners tells owners of one name apart: which of them it is, in the order in which objects name them.
func (c canon) learnOwners(o *unstructured.Unstructured, lives map[string]int) {
	for _, ref := range o.GetOwnerReferences() {
		if c.uids[string(ref.UID)] == "" {
			owner := ref.Kind + " " + c.text(ref.Name)
			lives[owner]++
			c.uids[string(ref.UID)] = fmt.Sprintf("uid of %s, the %d. of that name", owner, lives[owner])
		}
	}
}

// firstSurplus returns the first of the effects that is one too many: there are more like it than among the others,
// which have no more with its content.
func firstSurplus(effects, others []effect) (effect, bool) {
	likes, contents := map[Site]int{}, map[effect]int{}
	for _, e := range others {
		likes[e.like]--
		e.line = 0
		contents[e]++
	}
	for _, e := range effects {
		likes[e.like]++
	}
	for _, e := range effects {
		key := e
		key.line = 0
		if contents[key]--; likes[e.like] > 0 && contents[key] < 0 {
			return e, true
		}
	}
	return effect{}, false
}
