package explore

import (
	"net/netip"
	"regexp"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// Placeholders for values that do not distinguish States.
const (
	someTime    = "<time>"
	someAddress = "<address>"
	someUID     = "<uid>"
)

// ignoredMetadata are the fields of metadata that do not distinguish States.
var ignoredMetadata = map[string]bool{
	"uid": true, "resourceVersion": true, "creationTimestamp": true, "managedFields": true, "generation": true,
}

// identity is the same text for States that are the same.
func (x *explorer) identity(members []memberObject) string {
	b := []byte(x.start.String())
	for _, m := range members {
		b = append(b, '\n')
		b = append(b, m.key.String()...)
		switch {
		case m.obj == nil:
			b = append(b, " gone"...)
			continue
		case m.resting:
			b = append(b, " resting"...)
		}
		b, _ = object.AppendJSON(b, normal(m.obj.Object)) // objects of a cluster are JSON
	}
	return uids.ReplaceAllString(string(b), someUID)
}

// uids matches uids wherever they are, such as in the names of volumes.
var uids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// normal returns an object without the values that do not distinguish States.
func normal(obj map[string]any) map[string]any {
	generation, _ := object.Int64(obj, "metadata", "generation")
	n := normalizer{generation}
	result := make(map[string]any, len(obj))
	for k, v := range obj {
		if k == "metadata" {
			v = n.metadata(v)
		} else {
			v = n.field(k, v)
		}
		result[k] = v
	}
	return result
}

type normalizer struct{ generation int64 }

func (n normalizer) metadata(v any) any {
	fields, _ := object.ToMap(v)
	result := make(map[string]any, len(fields))
	for k, v := range fields {
		if !ignoredMetadata[k] {
			result[k] = n.field(k, v)
		}
	}
	return result
}

func (n normalizer) field(name string, v any) any {
	switch name {
	case "uid", "resourceVersion":
		return someUID
	case "observedGeneration":
		if observed, ok := object.ToInt64(v); ok {
			return observed - n.generation
		}
	}
	return n.value(v)
}

func (n normalizer) value(v any) any {
	switch v := v.(type) {
	case map[string]any:
		result := make(map[string]any, len(v))
		for k, item := range v {
			result[k] = n.field(k, item)
		}
		return result
	case []any:
		result := make([]any, len(v))
		for i, item := range v {
			result[i] = n.value(item)
		}
		return result
	case string:
		return text(v)
	}
	return v
}

// text replaces times and IP addresses. Most texts are neither; their length or first byte shows
// it.
func text(s string) string {
	if len(s) < 2 || len(s) > 64 {
		return s
	}
	if s[0] >= '0' && s[0] <= '9' && len(s) >= len("2006-01-02T15:04:05Z") {
		if _, err := time.Parse(time.RFC3339Nano, s); err == nil {
			return someTime
		}
	}
	if _, err := netip.ParseAddr(s); err == nil {
		return someAddress
	}
	return s
}
