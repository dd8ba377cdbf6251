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

// label names all States by the status of their objects and, where that is the same for several
// States, by the Stage that led to them.
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

// distinguish adds the suffixes to labels that several States of an object share, if the suffixes
// differ.
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

// lastStages returns for each State the Stage that was played last on the path by which the State
// was found, if any.
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

// describe names a State by the status of its objects.
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

// statusWords are the phase of an object, its true conditions, and whether it is being deleted.
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

// withoutWords describes an object without a phase and conditions.
func withoutWords(obj *unstructured.Unstructured) string {
	if status, ok := object.Map(obj.Object, "status"); ok && len(status) > 0 {
		return "status set"
	}
	return "no status"
}

// conditions are the types of the true conditions: only Ready or Available if the object has one of
// them, or else at most two.
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
