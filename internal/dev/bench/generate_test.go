package bench

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A generator makes cases like the Stage files in use, and like files that their authors could
// write next.
type generator struct {
	*rand.Rand
	lenient bool
	object  map[string]any // of the present case: expressions mostly read existing fields
}

func newGenerator(seed uint64) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, 0))}
}

// generate makes the case of a seed.
func generate(seed uint64) Case {
	g := newGenerator(seed)
	g.object = g.anObject()
	g.lenient = g.oneIn(8)
	c := Case{Object: g.object, Lenient: g.lenient}
	for i := range 1 + g.IntN(3) {
		c.Stages = append(c.Stages, g.stage(fmt.Sprintf("stage-%d", i)))
	}
	return c
}

// variants are objects of the kind of the case, each with other parts.
func variants(c Case, seed uint64, n int) []map[string]any {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	makers := map[any]func() map[string]any{"Pod": g.pod, "Node": g.node, "Widget": g.widget}
	objects := []map[string]any{c.Object}
	for range n - 1 {
		obj := clone(c).Object
		graft(g, obj, makers[obj["kind"]]())
		objects = append(objects, obj)
	}
	return objects
}

// graft replaces some fields of the parts of an object with those of another object.
func graft(g *generator, obj, from map[string]any) {
	for _, part := range []string{"metadata", "spec", "status"} {
		into, ok := obj[part].(map[string]any)
		fields := from[part].(map[string]any)
		for _, k := range sortedKeys(fields) {
			if ok && g.oneIn(3) {
				into[k] = fields[k]
			}
		}
	}
}

// oneIn is true once in n times.
func (g *generator) oneIn(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g *generator, items ...T) T { return items[g.IntN(len(items))] }

// either calls one of the functions.
func either[T any](g *generator, makers ...func() T) T { return pick(g, makers...)() }

// list makes up to n items.
func list(g *generator, n int, item func() any) []any {
	items := []any{}
	for range g.IntN(n + 1) {
		items = append(items, item())
	}
	return items
}

var words = []string{"a", "b", "x", "Ready", "True", "False", "Running", "Pending", "true", "3", "main", "kwok.io/x", "Job"}

func (g *generator) word() string { return pick(g, words...) }

// A place is a path in the object and the value that is there.
type place struct {
	steps []any // string for a key, int for an index
	value any
}

// place walks from v at random.
func (g *generator) place(v any) place {
	p := place{value: v}
	for {
		var step any
		switch v := p.value.(type) {
		case map[string]any:
			if len(v) == 0 {
				return p
			}
			key := pick(g, sortedKeys(v)...)
			step, p.value = key, v[key]
		case []any:
			if len(v) == 0 {
				return p
			}
			i := g.IntN(len(v))
			step, p.value = i, v[i]
		default:
			return p
		}
		p.steps = append(p.steps, step)
		if len(p.steps) > 1 && g.oneIn(6) {
			return p
		}
	}
}

// lists are the places of lists of objects that have a key.
func (g *generator) lists() []place {
	var found []place
	var walk func(p place)
	walk = func(p place) {
		switch v := p.value.(type) {
		case map[string]any:
			for _, k := range sortedKeys(v) {
				walk(place{append(slices.Clone(p.steps), k), v[k]})
			}
		case []any:
			if len(v) > 0 && isMap(v[0]) {
				found = append(found, p)
			}
		}
	}
	walk(place{value: g.object})
	return found
}

func isMap(v any) bool {
	m, ok := v.(map[string]any)
	return ok && len(m) > 0
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

var identifier = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// scalar prints a scalar as the values of a selector do.
func (g *generator) scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case nil, map[string]any, []any:
		return g.word()
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

// literal prints a value in the syntax that jq and CEL share.
func (g *generator) literal(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case bool, int64:
		return fmt.Sprint(v)
	case float64:
		return decimal(v)
	default:
		return pick(g, `"x"`, `3`, `true`, `null`, `"Running"`)
	}
}

// decimal prints a float with a point, so that it stays one.
func decimal(f float64) string {
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
