package answer

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/rollouts"
	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/rehearse"
)

// A Rollout is how a policy was rehearsed.
type Rollout struct {
	Policy    string   `json:"policy"`
	Succeeded bool     `json:"succeeded"`
	Message   string   `json:"message"`
	Lints     []string `json:"lints,omitempty"`
	Page      string   `json:"page"` // its chart and its entries, as HTML without scripts
}

// rollout rehearses the policies of a text, each by itself, like stagecraft rehearse.
func (r Request) rollout(ctx context.Context) (Answer, error) {
	in := rehearse.Input{Latency: 500 * time.Millisecond, Seed: r.Seed, Longest: 24 * time.Hour, Explain: true, Compile: staged.Options{ClusterLabel: "name"}}
	s, err := rollouts.Read(in, rollouts.Text{Name: RolloutFile, Data: []byte(r.Rollout)})
	a := Answer{Faults: []Fault{}}
	if err == nil && len(s.Input.Objects)+len(s.Input.Clusters) > MaxObjects {
		return a, fmt.Errorf("%d objects and clusters are more than %d: use stagecraft rehearse", len(s.Input.Objects)+len(s.Input.Clusters), MaxObjects)
	}
	var timelines []*rehearse.Timeline
	if err == nil {
		timelines, err = s.Rehearse(ctx, false, nil)
	}
	if ctx.Err() != nil {
		return a, errTooLong
	}
	if err != nil {
		a.Faults = r.faultsOf(err)
		return a, nil
	}
	for _, t := range timelines {
		if len(t.Entries) > MaxEntries {
			return a, fmt.Errorf("policy %q: %d entries are more than %d: use stagecraft rehearse", t.Policy, len(t.Entries), MaxEntries)
		}
		var page strings.Builder
		if err := rehearse.WriteHTML(&page, t); err != nil {
			return a, err
		}
		data := rollouts.TimelineOf(t)
		a.Rollouts = append(a.Rollouts, Rollout{Policy: t.Policy, Succeeded: t.Succeeded, Message: t.Message, Lints: data.Lints, Page: page.String()})
	}
	return a, nil
}
