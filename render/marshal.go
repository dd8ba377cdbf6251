package render

import (
	"sigs.k8s.io/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v2"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// marshalYAML is yaml.Marshal. That goes by JSON, which takes three times as long and matters only for values that JSON changes; the rest is
// given to the same encoder directly.
func marshalYAML(v any) ([]byte, error) {
	if !staysInJSON(v) {
		return yaml.Marshal(v)
	}
	return goyaml.Marshal(v)
}

// staysInJSON reports whether a value is the same after being written to JSON and read back.
func staysInJSON(v any) bool {
	switch v := v.(type) {
	case nil, bool, int64:
		return true
	case string:
		return object.IsPlain(v)
	case map[string]any:
		for k, item := range v {
			if !object.IsPlain(k) || !staysInJSON(item) {
				return false
			}
		}
		return v != nil
	case []any:
		for _, item := range v {
			if !staysInJSON(item) {
				return false
			}
		}
		return v != nil
	default:
		return false
	}
}
