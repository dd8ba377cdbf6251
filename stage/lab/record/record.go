package record

import (
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/printable"
)

// A Record is one entry of a log. It is plain data.
type Record struct {
	Time      time.Time // to the nanosecond, in UTC
	Kind      string    // Kind.group, such as "Pod" or "Job.batch"
	Namespace string
	Name      string
	UID       string
	From      string // the state before, "" if the object is new
	Stage     string // that was played; "" if something else changed the object
	To        string // the state after
	Seed      string // the seed path, seed/kind/namespace/name/entry/stage; "" if there is no Stage
	Owner     string // the controller of the object, such as "Job.batch/name"; "" if it has none
	Node      string // of a Pod
	Amounts   Amounts
}

// Amounts are quantities of resources by name: CPU in cores, memory in bytes, others in their own
// unit. They are what a Pod requests, or what a Node can allocate. A Record has them if they are
// new or have changed, otherwise nil. They are shared and must not be changed.
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

// Object is Kind.group namespace/name, in the format of a stage.Key.
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
	return printable.Text(b.String())
}

// A Log is a list of records in the order in which they were made.
type Log []Record

// Append adds a record. It is for Options.Sink and returns no error.
func (l *Log) Append(r Record) error {
	*l = append(*l, r)
	return nil
}

// Since returns the log from a time on. It begins with a record of each object that exists at that
// time, with its state, owner, node and amounts. In this record From equals To, because the object
// has not changed then. So numbers over time are as in the whole log, and objects that were created
// before do not count as new.
func (l Log) Since(t time.Time) Log {
	type key struct{ kind, namespace, name, uid string }
	last := map[key]Record{}
	var order []key
	after := 0
	for ; after < len(l) && l[after].Time.Before(t); after++ {
		r := l[after]
		k := key{r.Kind, r.Namespace, r.Name, r.UID}
		before, known := last[k]
		if !known {
			order = append(order, k)
		}
		if r.Amounts == nil {
			r.Amounts = before.Amounts
		}
		last[k] = r
	}
	var cut Log
	for _, k := range order {
		r := last[k]
		if r.To == Deleted {
			continue
		}
		r.Time, r.From, r.Stage, r.Seed = t, r.To, "", ""
		cut = append(cut, r)
	}
	return append(cut, l[after:]...)
}
