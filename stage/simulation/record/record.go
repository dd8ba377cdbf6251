package record

import (
	"strings"
	"time"
)

// A Record is one line of a log. It is plain data.
type Record struct {
	Time      time.Time // to the nanosecond, in UTC
	Kind      string    // Kind.group, as "Pod" or "Job.batch"
	Namespace string
	Name      string
	UID       string
	From      string // the state before, "" if the object is new
	Stage     string // that was played, "" if somebody else moved the object
	To        string // the state after
	Seed      string // the seed path, "" without a Stage: seed/kind/namespace/name/entry/stage
	Owner     string // the object's controller, as "Job.batch/name"; "" if it has none
	Node      string // that a Pod is on
	Amounts   Amounts
}

// Amounts are resources by name: CPU in cores, memory in bytes, others in their unit. A Record has them where they are new or have changed,
// and nil otherwise: what a Pod requests, and what a Node can allocate. They are shared and must not be changed.
type Amounts map[string]float64

// The states of [StateOf].
const (
	Pending     = "Pending"
	Suspended   = "Suspended"
	Scheduled   = "Scheduled"
	Running     = "Running"
	Ready       = "Ready"
	NotReady    = "NotReady"
	Present     = "Present"
	Succeeded   = "Succeeded"
	Complete    = "Complete"
	Failed      = "Failed"
	Terminating = "Terminating"
	Deleted     = "Deleted" // the object is gone
)

// Object is Kind.group namespace/name, as a stage.Key prints it.
func (r Record) Object() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// String prints `Pod default/web Scheduled → Running by pod-ready`, without the time.
func (r Record) String() string {
	var b strings.Builder
	b.WriteString(r.Object())
	if r.From != "" {
		b.WriteString(" " + r.From)
	}
	b.WriteString(" → " + r.To)
	if r.Stage != "" {
		b.WriteString(" by " + r.Stage)
	}
	return b.String()
}

// A Log is a list of records in the order in which they were made, in memory.
type Log []Record

// Append adds a record. It is for Options.Sink and returns no error.
func (l *Log) Append(r Record) error {
	*l = append(*l, r)
	return nil
}
