package bench

import (
	"fmt"
	"strconv"
	"strings"
)

// celPath spells a path in CEL.
func (g *generator) celPath(steps []any) string {
	var b strings.Builder
	b.WriteString("self")
	for _, s := range steps {
		switch s := s.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", s)
		case string:
			b.WriteString(g.celKey(s))
		}
	}
	return b.String()
}

func (g *generator) celKey(key string) string {
	if g.oneIn(60) {
		key += "x"
	}
	if identifier.MatchString(key) && !g.oneIn(5) {
		return "." + key
	}
	return "[" + strconv.Quote(key) + "]"
}

// celBool makes a condition.
func (g *generator) celBool(depth int) string {
	p := g.place(g.object)
	path := g.celPath(p.steps)
	if depth > 0 && g.oneIn(3) {
		a, b := g.celBool(depth-1), g.celBool(depth-1)
		return pick(g, a+" && "+b, a+" || "+b, "!("+a+")", "("+a+") == ("+b+")", fmt.Sprintf("(%s) ? (%s) : (%s)", a, b, a))
	}
	return either(g,
		func() string { return path + g.comparison() + g.celLiteral(p.value) },
		func() string { return path + " == " + g.celLiteral(p.value) },
		func() string { return path + " == " + g.celPath(g.place(g.object).steps) },
		func() string { return g.celHas(p.steps) },
		func() string { return "!" + g.celHas(p.steps) },
		func() string { return g.celHas(p.steps) + " && " + path + " == " + g.celLiteral(p.value) },
		func() string { return path + " in [" + g.celLiteral(p.value) + ", \"x\"]" },
		func() string { return strconv.Quote(g.word()) + " in " + path },
		func() string { return "size(" + path + ") > " + strconv.Itoa(g.IntN(4)) },
		func() string { return path + fmt.Sprintf(".startsWith(%q)", g.word()) },
		func() string { return path + fmt.Sprintf(".matches('^%s')", pick(g, "a", "R", "[0-9]+$")) },
		func() string { return g.celExists() },
		func() string { return g.celExists() },
		func() string {
			return "type(" + path + ") == " + pick(g, "string", "int", "double", "bool", "map", "list")
		},
		func() string { return "timestamp(" + path + ") < timestamp('2024-05-06T07:08:09Z')" },
		func() string { return "duration(" + path + ") > duration('1s')" },
		func() string { return "Quantity(" + path + ") < Quantity('1500m')" },
		func() string { return "UnixSecond(timestamp(" + path + ")) > 1714979289.0" },
		func() string { return path },
	)
}

func (g *generator) celLiteral(v any) string {
	s := g.literal(v)
	if g.oneIn(12) {
		return pick(g, "1.0", "1u", "2", "null", "'x'", "[1]", "{'a': 1}")
	}
	return s
}

// celHas needs a path that ends in a field.
func (g *generator) celHas(steps []any) string {
	for len(steps) > 0 {
		if key, ok := steps[len(steps)-1].(string); ok && identifier.MatchString(key) {
			return "has(" + g.celPath(steps[:len(steps)-1]) + "." + key + ")"
		}
		steps = steps[:len(steps)-1]
	}
	return "has(self.metadata)"
}

func (g *generator) celExists() string {
	lists := g.lists()
	if len(lists) == 0 {
		return "has(self.spec)"
	}
	p := pick(g, lists...)
	item, ok := pick(g, p.value.([]any)...).(map[string]any)
	if !ok || len(item) == 0 {
		return "true"
	}
	key := pick(g, sortedKeys(item)...)
	test := "c" + g.celKey(key) + g.comparison() + g.celLiteral(item[key])
	return g.celPath(p.steps) + pick(g,
		".exists(c, "+test+")", ".all(c, "+test+")", ".exists_one(c, "+test+")", ".filter(c, "+test+").size() > 0", ".map(c, c."+"name).size() == 1")
}

// celValue makes an expression for a weight or a delay.
func (g *generator) celValue() string {
	p := g.place(g.object)
	path := g.celPath(p.steps)
	return pick(g, path, path, `self.metadata.annotations["kwok.io/delay"]`, "self.spec.weight", "self.spec.duration", "self.spec.ratio", "3", "2.5", "7u", "-1",
		"size(self.spec.items)", "duration('5s')", "'1m'", "'5 minutes'", "duration(self.spec.duration)", "self.spec.replicas * 1000000000",
		"timestamp('2024-05-06T07:08:39Z') - timestamp('2024-05-06T07:08:09Z')", "int("+path+")", "double("+path+")", "has(self.spec.weight) ? self.spec.weight : 1",
		"self.spec.ratio * 2.0", "self.spec.paused", "true", "Quantity('2')", "1 / 0", "9223372036854775807 + 1", "string("+path+")", "self.status.replicas - 2")
}
