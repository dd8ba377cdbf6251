package explore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/stage"
)

// label names all States: by what their objects say of themselves and, where that is the same for several, by how they are reached.
func (g *Graph) label() {
	for i := range g.States {
		g.States[i].Label = g.States[i].describe()
	}
	g.distinguish(g.lastStages())
	numbers := make([]string, len(g.States))
	for i := range numbers {
		numbers[i] = " #" + strconv.Itoa(i)
	}
	g.distinguish(numbers)
}

// distinguish adds something to the labels that are not the only ones of their object, if it tells any of them apart.
func (g *Graph) distinguish(suffixes []string) {
	type name struct {
		key   stage.Key
		label string
	}
	same := map[name][]int{}
	for _, s := range g.States {
		same[name{s.Key, s.Label}] = append(same[name{s.Key, s.Label}], s.ID)
	}
	for _, ids := range same {
		if slices.ContainsFunc(ids, func(id int) bool { return suffixes[id] != suffixes[ids[0]] }) {
			for _, id := range ids {
				g.States[id].Label += suffixes[id]
			}
		}
	}
}

// lastStages tells the Stage that was played last when a State was found, if any was.
func (g *Graph) lastStages() []string {
	last, found := make([]string, len(g.States)), make([]bool, len(g.States))
	for _, id := range g.Starts {
		found[id] = true
	}
	for _, t := range g.Transitions {
		switch {
		case found[t.To]:
			continue
		case t.Stage != "":
			last[t.To] = ", after " + t.Stage
		default:
			last[t.To] = last[t.From]
		}
		found[t.To] = true
	}
	return last
}

// words are what the objects of a State say.
func (s State) describe() string {
	words := []string{"gone"}
	if obj := s.Object(); obj != nil {
		if words = statusWords(obj); len(words) == 0 {
			words = append(words, withoutWords(obj))
		}
	}
	for _, other := range s.Objects {
		if other.Key != s.Key {
			words = append(words, strings.Join(append([]string{other.Key.Kind}, statusWords(other.Object)...), " "))
		}
	}
	if s.Object() != nil && s.Objects[0].Resting {
		words = append(words, "at rest")
	}
	return strings.Join(words, " · ")
}

// says is the phase of an object, the conditions that are true, and whether it is being deleted; nothing, if it has none of these.
func statusWords(obj *unstructured.Unstructured) (words []string) {
	for _, field := range []string{"phase", "state"} {
		if s, ok := object.String(obj.Object, "status", field); ok && s != "" {
			words = append(words, s)
			break
		}
	}
	words = append(words, conditions(obj)...)
	if obj.GetDeletionTimestamp() != nil {
		words = append(words, "deleting")
	}
	return words
}

// unsaid is for an object that says nothing.
func withoutWords(obj *unstructured.Unstructured) string {
	if status, ok := object.Map(obj.Object, "status"); ok && len(status) > 0 {
		return "status set"
	}
	return "no status"
}

// conditions are the types of those that are true, at most two by name: Ready and Available say more than others.
func conditions(obj *unstructured.Unstructured) (names []string) {
	list, _ := object.Slice(obj.Object, "status", "conditions")
	for _, item := range list {
		m, _ := object.ToMap(item)
		name, _ := object.String(m, "type")
		if status, _ := object.String(m, "status"); status != "True" {
			continue
		}
		if name == "Ready" || name == "Available" {
			return []string{name}
		}
		names = append(names, name)
	}
	if len(names) > 2 {
		names = append(names[:2], fmt.Sprintf("+%d", len(names)-2))
	}
	return names
}
