package measure

import (
	"encoding/csv"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/record"
)

// WriteTable writes a row of CSV for each object of a kind, such as Job.batch, in the order of their
// first records, for pandas.read_csv and other tools:
//
//	namespace, name, uid
//	created, ended            seconds since the first record of the log; ended is that of the last change of state
//	state                     the last one
//	owned pods                how many Pods the object owned
//	one column for each metric, in seconds; a metric must be of spans of this kind
//	one column for each resource: what the object has, or what its Pods request at most at once
//
// A cell without a value is empty. If a metric has several spans of an object, the last one counts.
func WriteTable(w io.Writer, log record.Log, kind string, metrics ...Metric) error {
	t := newTable(log, kind)
	out := csv.NewWriter(w)
	header := []string{"namespace", "name", "uid", "created", "ended", "state", "owned pods"}
	spans := make([]map[object]string, len(metrics))
	for i, m := range metrics {
		header = append(header, m.Name)
		spans[i] = durations(m, log)
	}
	rows := [][]string{append(header, t.resources...)}
	for _, key := range t.order {
		o := t.objects[key]
		row := []string{key.namespace, key.name, key.uid, seconds(o.first.Sub(log[0].Time)), seconds(o.last.Sub(log[0].Time)), o.state, strconv.Itoa(o.pods)}
		for i := range metrics {
			row = append(row, spans[i][key])
		}
		for _, r := range t.resources {
			row = append(row, amount(o.most, r))
		}
		rows = append(rows, row)
	}
	return out.WriteAll(rows)
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

func amount(a record.Amounts, resource string) string {
	if v, there := a[resource]; there {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// durations are the spans of a metric by object.
func durations(m Metric, log record.Log) map[object]string {
	all := map[object]string{}
	if m.Spans != nil {
		for _, s := range m.Spans(log) {
			all[objectOf(s.Begin)] = seconds(s.Duration())
		}
	}
	return all
}

// An objects is the content of a log about the objects of one kind.
type objects struct {
	kind      string
	objects   map[object]*entry
	order     []object
	owners    map[[2]string]object // the newest object by namespace and "kind/name"
	resources []string             // in order
}

// An entry is the content of a log about one object.
type entry struct {
	first, last time.Time
	state       string
	pods        int
	now, most   record.Amounts // of the object, or of its Pods together
}

func newTable(log record.Log, kind string) *objects {
	t := &objects{kind: kind, objects: map[object]*entry{}, owners: map[[2]string]object{}}
	names, pods := map[string]bool{}, map[object]record.Amounts{}
	for _, r := range log {
		if r.Kind == kind {
			t.add(r)
		} else if owner, owned := t.owners[[2]string{r.Namespace, r.Owner}]; owned && r.Kind == "Pod" {
			t.objects[owner].addPod(r, pods)
		}
	}
	for _, o := range t.objects {
		for name := range o.most {
			names[name] = true
		}
	}
	t.resources = slices.Sorted(maps.Keys(names))
	return t
}

// add adds a record of an object of the kind.
func (t *objects) add(r record.Record) {
	key := objectOf(r)
	o := t.objects[key]
	if o == nil {
		o = &entry{first: r.Time, now: record.Amounts{}, most: record.Amounts{}}
		t.objects[key] = o
		t.order = append(t.order, key)
		t.owners[[2]string{r.Namespace, r.Kind + "/" + r.Name}] = key
	}
	if r.To != o.state {
		o.state, o.last = r.To, r.Time
	}
	if r.Amounts != nil {
		o.most = r.Amounts
	}
}

// addPod adds a record of a Pod of the object. Pods has the requests of the Pods that have not
// ended.
func (o *entry) addPod(r record.Record, pods map[object]record.Amounts) {
	key := objectOf(r)
	before, known := pods[key]
	if !known {
		o.pods++
	}
	now := r.Amounts
	if now == nil {
		now = before
	}
	if ended(r) {
		now = record.Amounts{}
	}
	pods[key] = now
	for name, v := range before {
		o.now[name] = exact(o.now[name] - v)
	}
	for name, v := range now {
		o.now[name] = exact(o.now[name] + v)
		o.most[name] = max(o.most[name], o.now[name])
	}
}
