package rollouts

import (
	"time"

	"github.com/stagecraft-go/stagecraft/staged/rehearse"
)

// A Timeline is a [rehearse.Timeline] as data.
type Timeline struct {
	Policy    string    `json:"policy"`
	Start     time.Time `json:"start"`
	Succeeded bool      `json:"succeeded"`
	Message   string    `json:"message"`
	Entries   []Entry   `json:"entries"`
	Clusters  []History `json:"clusters,omitempty"`
	Lints     []string  `json:"lints,omitempty"`
}

// An Entry is one thing that happened.
type Entry struct {
	At            string `json:"at"` // after the start
	Policy        string `json:"policy,omitempty"`
	Stage         string `json:"stage,omitempty"`
	BindingPolicy string `json:"bindingPolicy,omitempty"`
	Cluster       string `json:"cluster,omitempty"`
	Text          string `json:"text"`
	Waiting       bool   `json:"waiting,omitempty"`
}

// A History is the revisions that a cluster has had.
type History struct {
	Cluster string   `json:"cluster"`
	Had     []string `json:"had"`
	Never   []string `json:"never,omitempty"`
}

// TimelineOf returns a timeline as data.
func TimelineOf(t *rehearse.Timeline) Timeline {
	data := Timeline{Policy: t.Policy, Start: t.Start, Succeeded: t.Succeeded, Message: t.Message, Entries: []Entry{}}
	for _, e := range t.Entries {
		data.Entries = append(data.Entries, Entry{At: e.At.String(), Policy: e.Policy, Stage: e.Stage, BindingPolicy: e.BindingPolicy, Cluster: e.Cluster, Text: e.Text, Waiting: e.Waiting})
	}
	for _, h := range t.Clusters {
		data.Clusters = append(data.Clusters, History(h))
	}
	for _, l := range t.Lints {
		data.Lints = append(data.Lints, l.String())
	}
	return data
}
