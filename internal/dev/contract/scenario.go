package contract

import (
	"embed"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

//go:embed scenarios/*.yaml
var files embed.FS

// A scenario is a sequence of calls for one object. In all texts "$namespace" is replaced by the
// namespace of the scenario.
type scenario struct {
	Name string `json:"name"`
	// Object is the object, by its name in objects.yaml.
	Object string `json:"object"`
	Steps  []step `json:"steps"`
	// Events are the events that a watch of the kind in the namespace must have received at the
	// end, as "ADDED name"; nil: no watch.
	Events []string `json:"events"`
	// Label is the label selector of that watch.
	Label string `json:"label"`
}

// A step is one call and the expected state after it. In its body "$version" and "$uid" are
// replaced by the values of the object before the step.
type step struct {
	Verb verb `json:"verb"`
	// Target is the name of the object; "" is the scenario's object. A create uses the name in its
	// body, if it has a body.
	Target      string `json:"target"`
	Subresource string `json:"subresource"`
	// Body is the object, the patch, the DeleteOptions or the ListOptions, or the name of an object
	// in objects.yaml.
	Body   json.RawMessage `json:"body"`
	Force  bool            `json:"force"` // of apply
	DryRun bool            `json:"dryRun"`
	// Manager is the field manager.
	Manager string `json:"manager"`
	// Reason is the reason of the expected error; "": no error, [noReason]: an error without a
	// reason.
	Reason metav1.StatusReason `json:"reason"`
	// Want is the wanted value for each path in the stored object after the step; null: absent. For
	// a list: names and pages.
	Want json.RawMessage `json:"want"`
	// VersionChanged is whether resourceVersion must have changed; nil: either way.
	VersionChanged *bool `json:"versionChanged"`
}

// noReason means an error without a reason.
const noReason metav1.StatusReason = "Unknown"

type verb string

const (
	createVerb    verb = "create"
	updateVerb    verb = "update"
	deleteVerb    verb = "delete"
	getVerb       verb = "get"
	listVerb      verb = "list"
	mergeVerb     verb = "merge"
	strategicVerb verb = "strategic"
	jsonVerb      verb = "json"
	applyVerb     verb = "apply"
)

// scenarios reads all scenarios, with the texts of their objects and bodies.
func scenarios() ([]scenario, error) {
	var objects map[string]json.RawMessage
	if err := read("objects", &objects); err != nil {
		return nil, err
	}
	var all []scenario
	for _, name := range []string{"writing", "status", "patching", "applying", "deleting", "reading"} {
		var list []scenario
		if err := read(name, &list); err != nil {
			return nil, err
		}
		for _, s := range list {
			if err := s.resolve(objects); err != nil {
				return nil, fmt.Errorf("%s.yaml: %s: %w", name, s.Name, err)
			}
			all = append(all, s)
		}
	}
	return all, nil
}

func read(name string, v any) error {
	data, err := files.ReadFile("scenarios/" + name + ".yaml")
	if err != nil {
		return err
	}
	if err := yaml.UnmarshalStrict(data, v); err != nil {
		return fmt.Errorf("%s.yaml: %w", name, err)
	}
	return nil
}

// resolve replaces the names of objects by their texts.
func (s *scenario) resolve(objects map[string]json.RawMessage) error {
	object, known := objects[s.Object]
	if !known {
		return fmt.Errorf("unknown object %q", s.Object)
	}
	s.Object = string(object)
	for i := range s.Steps {
		body := &s.Steps[i].Body
		if len(*body) == 0 || (*body)[0] != '"' {
			continue
		}
		var name string
		if err := json.Unmarshal(*body, &name); err != nil {
			return err
		}
		if *body, known = objects[name]; !known {
			return fmt.Errorf("step %d: unknown object %q", i+1, name)
		}
	}
	return nil
}
