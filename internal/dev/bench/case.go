package bench

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// A Case is Stages and an object, as JSON values, as a user would write them.
type Case struct {
	Stages []map[string]any `json:"stages"`
	Object map[string]any   `json:"object"`
	// Lenient makes stagecraft compile leniently, as kwok always does.
	Lenient bool `json:"lenient,omitempty"`
}

// String prints the case as YAML documents, the object last.
func (c Case) String() string {
	text := ""
	for _, s := range c.Stages {
		text += document(s) + "---\n"
	}
	return text + document(c.Object)
}

// Text returns the Stages as a file.
func (c Case) Text() []byte {
	var text []byte
	for _, s := range c.Stages {
		data, err := json.Marshal(s)
		if err != nil {
			data = []byte(err.Error())
		}
		text = append(append(text, data...), "\n---\n"...)
	}
	return text
}

func (c Case) object() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: c.Object}
}

func document(v any) string {
	data, err := yaml.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
