package kstatustest

import (
	"encoding/json"
	"hash/fnv"
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// A draft is a copy of an object whose status is being written.
type draft struct {
	options Options
	fields  map[string]any // the object; not shared
	status  map[string]any // fields["status"]
	time    time.Time
}

// defaultTime is used for objects without a creationTimestamp.
var defaultTime = time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)

// A maker writes a status.
type maker func(*draft)

func newDraft(fields map[string]any, o Options) *draft {
	d := &draft{options: o, time: o.Now, fields: fields}
	if d.time.IsZero() {
		d.time = defaultTime
		created, _ := object.String(fields, "metadata", "creationTimestamp")
		if at, err := time.Parse(time.RFC3339, created); err == nil {
			d.time = at
		}
	}
	return d
}

// begin starts again with a copy of an object, whose status may be missing or not a map.
func (d *draft) begin(fields map[string]any) {
	d.fields = object.CopyMap(fields)
	d.status, _ = object.ToMap(d.fields["status"])
	if d.status == nil {
		d.status = map[string]any{}
	}
	d.fields["status"] = d.status
}

func (d *draft) now() string { return d.time.UTC().Format(time.RFC3339) }

func (d *draft) text(path ...string) string {
	s, _ := object.String(d.fields, path...)
	return s
}

func (d *draft) int(fallback int64, path ...string) int64 {
	if n, ok := object.Int64(d.fields, path...); ok {
		return n
	}
	return fallback
}

func (d *draft) bool(path ...string) bool {
	b, _ := object.Bool(d.fields, path...)
	return b
}

func (d *draft) name() string { return d.text("metadata", "name") }

// replicas returns spec.replicas, 1 if it is missing.
func (d *draft) replicas() int64 { return d.int(1, "spec", "replicas") }

// message returns the message of the options, or otherwise the given one.
func (d *draft) message(fallback string) string {
	if d.options.Message != "" {
		return d.options.Message
	}
	return fallback
}

// observe writes that the controller has observed the latest generation. An API server counts from
// 1.
func (d *draft) observe() {
	metadata := d.section(d.fields, "metadata")
	if n, ok := object.ToInt64(metadata["generation"]); !ok || n == 0 {
		metadata["generation"] = int64(1)
	}
	d.status["observedGeneration"] = metadata["generation"]
}

// section returns a map in another one, and creates it if it is missing.
func (d *draft) section(in map[string]any, key string) map[string]any {
	m, ok := object.ToMap(in[key])
	if !ok || m == nil {
		m = map[string]any{}
		in[key] = m
	}
	return m
}

// count writes a number to fields of the status. For 0 it removes them, because the API omits it.
func (d *draft) count(n int64, names ...string) {
	for _, name := range names {
		if n == 0 {
			delete(d.status, name)
		} else {
			d.status[name] = n
		}
	}
}

func (d *draft) drop(names ...string) {
	for _, name := range names {
		delete(d.status, name)
	}
}

// keep writes a field that the status does not have yet.
func (d *draft) keep(name string, value any) {
	if _, there := d.status[name]; !there {
		d.status[name] = value
	}
}

// A condition is an element of status.conditions.
type condition struct{ kind, status, reason, message string }

// conditions replaces the conditions. Each gets lastTransitionTime, which stays if the status does
// not change, and the other times that are named.
func (d *draft) conditions(times []string, list ...condition) {
	old, _ := object.Slice(d.status, "conditions")
	out := make([]any, len(list))
	for i, c := range list {
		m := map[string]any{"type": c.kind, "status": c.status, "lastTransitionTime": d.since(old, c)}
		for name, text := range map[string]string{"reason": c.reason, "message": c.message} {
			if text != "" {
				m[name] = text
			}
		}
		for _, name := range times {
			m[name] = d.now()
		}
		out[i] = m
	}
	d.status["conditions"] = out
}

func (d *draft) since(old []any, c condition) any {
	if m := find(old, "type", c.kind); m != nil && m["status"] == c.status && m["lastTransitionTime"] != nil {
		return m["lastTransitionTime"]
	}
	return d.now()
}

// find returns the map in a list that has a value for a key, or nil.
func find(list []any, key string, value any) map[string]any {
	i := slices.IndexFunc(list, func(item any) bool {
		m, _ := object.ToMap(item)
		return m != nil && m[key] == value
	})
	if i < 0 {
		return nil
	}
	m, _ := object.ToMap(list[i])
	return m
}

// revision returns the name of the object and a hash of its template, in the letters that
// Kubernetes uses for such hashes.
func (d *draft) revision() string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	template, _ := object.Get(d.fields, "spec", "template")
	text, _ := json.Marshal(template) // JSON values only: it cannot fail
	h := fnv.New64a()
	h.Write(text)
	out := []byte(d.name() + "-")
	for n, i := h.Sum64(), 0; i < 10; i++ {
		out = append(out, letters[n%uint64(len(letters))])
		n /= uint64(len(letters))
	}
	return string(out)
}
