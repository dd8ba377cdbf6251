package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Now is the current time for both sides.
var Now = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)

// An Outcome is the decision of a side on a case.
type Outcome struct {
	Refused  string         // why the Stages do not compile; then no other field is set
	Err      string         // why no Stage is played although some match
	Possible []string       // the Stages that can be chosen, in order
	Stages   []StageOutcome // all Stages of the case that are for the kind of the object
}

// A StageOutcome is the decision of a side about one Stage alone.
type StageOutcome struct {
	Stage   string
	Match   string // "true", "false", or an error
	Weight  string // a number, "none", or an error
	Delay   string // "none", [d], [min max], or an error
	Effects []Effect
	Failed  string // the error that ended the effects
}

// An Effect is one request that a side would send.
type Effect struct {
	Kind        string // event, patch, apply or delete
	Type        string // of the event or the patch
	Subresource string
	User        string
	Data        any // of the event or the patch, with normalized numbers
}

// String prints the effect on one line.
func (e Effect) String() string {
	data, err := json.Marshal(e.Data)
	if err != nil {
		return err.Error()
	}
	return strings.Join([]string{e.Kind, e.Type, e.Subresource, e.User, string(data)}, " ")
}

// decodePlain decodes JSON so that equal numbers are equal values: 1, 1.0 and 1e0 are the same.
func decodePlain(data []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return "not JSON: " + string(data)
	}
	return normalizeNumbers(v)
}

func normalizeNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			v[k] = normalizeNumbers(item)
		}
	case []any:
		for i, item := range v {
			v[i] = normalizeNumbers(item)
		}
	case json.Number:
		return number(v)
	}
	return v
}

func number(n json.Number) any {
	if i, err := n.Int64(); err == nil {
		return json.Number(strconv.FormatInt(i, 10))
	}
	f, err := n.Float64()
	if err != nil {
		return n
	}
	return json.Number(strconv.FormatFloat(f, 'f', -1, 64))
}

func durations(ds ...time.Duration) string { return fmt.Sprint(ds) }

// Placeholders are template functions that return constants instead of addresses and times.
func Placeholders() map[string]any {
	funcs := map[string]any{}
	for _, name := range []string{"NodeIP", "NodeName", "PodIP", "NodeIPWith", "PodIPWith", "Now", "now", "StartTime", "Version"} {
		funcs[name] = func(args ...any) string { return "<" + name + fmt.Sprint(args...) + ">" }
	}
	for _, name := range []string{"NodeIPsWith", "PodIPsWith"} {
		funcs[name] = func(args ...any) []string { return []string{"<0 of " + name + fmt.Sprint(args...) + ">", "<1>"} }
	}
	funcs["NodePort"] = func() int { return 10250 }
	return funcs
}
