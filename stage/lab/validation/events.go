package validation

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

const eventsGroup = "events.k8s.io"

type groupKey struct{}

// AskedIn returns the context of a write that was requested in a group. Events of events.k8s.io are
// checked more strictly than Events of the core group; a server stores both in the core group.
func AskedIn(ctx context.Context, group string) context.Context {
	return context.WithValue(ctx, groupKey{}, group)
}

// event is ValidateEventCreate of core/validation.
func event(f fieldOf) {
	namespaceOfEvent(f)
	if !isEmpty(f.within["eventTime"]) {
		reporter(f)
	}
	if !f.isStrict || f.before != nil {
		return
	}
	for _, message := range validation.IsDNS1123Subdomain(f.object) {
		f.add(field.Invalid(field.NewPath("metadata", "name"), f.object, message))
	}
	seriesOfEvent(f, f.within)
	if isEmpty(f.within["eventTime"]) {
		f.add(field.Required(field.NewPath("eventTime"), ""))
	}
	if kind := text(f.within["type"]); kind != "Normal" && kind != "Warning" {
		f.add(field.Invalid(field.NewPath("type"), "", "has invalid value: "+kind))
	}
	for _, name := range []string{"firstTimestamp", "lastTimestamp", "count", "source"} {
		if !isEmpty(f.within[name]) {
			f.add(field.Invalid(field.NewPath(name), "", "needs to be unset"))
		}
	}
}

// namespaceOfEvent refuses an Event about an object of another namespace.
func namespaceOfEvent(f fieldOf) {
	about, own := text(nested(f.within, "involvedObject")["namespace"]), text(nested(f.within, "metadata")["namespace"])
	isNew := !isEmpty(f.within["eventTime"])
	switch {
	case about == own, about == "" && own == "default":
	case isNew && (about != "" || own == "kube-system"):
	default:
		f.add(field.Invalid(field.NewPath("involvedObject", "namespace"), about, "does not match event.namespace"))
	}
}

// reporter checks the reporter and the reason of an Event with a time.
func reporter(f fieldOf) {
	const most, longest = 128, 1024
	name := "reportingComponent"
	if f.isStrict {
		name = "reportingController"
	}
	who := fieldOf{f.faults, field.NewPath(name), "", f.within["reportingComponent"], f.within}
	required(who)
	nonEmptyQualified(who)
	for _, name := range []string{"reportingInstance", "action", "reason"} {
		v := fieldOf{f.faults, field.NewPath(name), "", f.within[name], f.within}
		required(v)
		if len(text(v.value)) > most {
			f.add(field.Invalid(v.path(), "", fmt.Sprintf("can have at most %d characters", most)))
		}
	}
	if len(text(f.within["message"])) > longest {
		f.add(field.Invalid(field.NewPath("message"), "", fmt.Sprintf("can have at most %d characters", longest)))
	}
}

func seriesOfEvent(f fieldOf, event map[string]any) {
	series := nested(event, "series")
	if series == nil {
		return
	}
	if n, _ := series["count"].(int64); n < 2 {
		f.add(field.Invalid(field.NewPath("series.count"), "", "should be at least 2"))
	}
	if isEmpty(series["lastObservedTime"]) {
		f.add(field.Required(field.NewPath("series.lastObservedTime"), ""))
	}
}

// eventUpdate is the strict part of ValidateEventUpdate of core/validation.
func eventUpdate(f *faults, before, now map[string]any) {
	if !f.isStrict {
		return
	}
	if !object.DeepEqual(before["series"], now["series"]) {
		seriesOfEvent(fieldOf{f, nil, "", nil, now}, now)
	}
	for _, name := range []string{"involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "type", "eventTime", "action", "related", "reportingComponent", "reportingInstance"} {
		if alike(before[name], now[name]) {
			continue
		}
		value := now[name]
		if _, isText := before[name].(string); isText && value == nil && name != "eventTime" {
			value = ""
		}
		if name == "reportingComponent" {
			name = "reportingController"
		}
		f.add(field.Invalid(field.NewPath(name), value, "field is immutable"))
	}
}
