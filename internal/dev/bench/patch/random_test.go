package patch

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// random makes documents that are small enough to collide often.
type random struct{ *rand.Rand }

func newRandom(seed uint64) random { return random{rand.New(rand.NewPCG(seed, 1))} }

func pick[T any](r random, from ...T) T { return from[r.IntN(len(from))] }

func (r random) chance(percent int) bool { return r.IntN(100) < percent }

func (r random) scalar() any {
	return pick[any](r, "a", "b", "c", "", true, false, int64(0), int64(1), 1.5)
}

// value is any JSON.
func (r random) value(depth int) any {
	switch n := r.IntN(10); {
	case depth > 0 && n < 4:
		return r.object(depth)
	case depth > 0 && n < 7:
		return r.list(depth)
	case n == 9:
		return nil
	}
	return r.scalar()
}

func (r random) object(depth int) map[string]any {
	m := map[string]any{}
	for range r.IntN(5) {
		m[pick(r, "a", "b", "c/d", "e~f", "")] = r.value(depth - 1)
	}
	return m
}

func (r random) list(depth int) []any {
	l := []any{}
	for range r.IntN(4) {
		l = append(l, r.value(depth-1))
	}
	return l
}

// pointer is mostly a place that exists in v, or one next to it.
func (r random) pointer(v any) string {
	var b strings.Builder
	for first := true; first || r.chance(60); first = false {
		switch c := v.(type) {
		case map[string]any:
			key := pick(r, "a", "b", "c/d", "e~f", "")
			if keys := sortedKeys(c); len(keys) > 0 && r.chance(80) {
				key = pick(r, keys...)
			}
			b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
			v = c[key]
		case []any:
			i := r.IntN(len(c)+2) - 1
			b.WriteString(pick(r, fmt.Sprintf("/%d", i), fmt.Sprintf("/%d", i), "/-"))
			v = nil
			if i >= 0 && i < len(c) {
				v = c[i]
			}
		default:
			return b.String() + pick(r, "", "", "", "/a", "/0")
		}
	}
	return b.String()
}

// at is the value that a pointer without list indexes names, or null.
func at(v any, pointer string) any {
	for _, token := range strings.Split("/"+strings.TrimPrefix(pointer, "/"), "/")[1:] {
		m, _ := v.(map[string]any)
		v = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
	}
	return v
}

func (r random) operations(doc any) []any {
	ops := []any{}
	for range 1 + r.IntN(3) {
		op := map[string]any{"op": pick(r, "add", "remove", "replace", "move", "copy", "test"), "path": r.pointer(doc)}
		if r.chance(95) {
			op["value"] = r.value(2)
			op["from"] = r.pointer(doc)
		}
		if op["op"] == "test" && r.chance(70) {
			op["value"] = at(doc, op["path"].(string))
		}
		ops = append(ops, op)
	}
	return ops
}

// pod is a Pod with the lists that merge in different ways. As a patch it may
// hold nulls and directives.
func (r random) pod(asPatch bool) map[string]any {
	p := podMaker{r, asPatch}
	return p.object(map[string]func() any{
		"metadata": func() any {
			return p.object(map[string]func() any{
				"labels":          p.strings,
				"finalizers":      p.set,
				"ownerReferences": p.list("uid", "name"),
			}, "finalizers", "ownerReferences")
		},
		"spec": func() any {
			return p.object(map[string]func() any{
				"containers":       p.containers,
				"volumes":          p.list("name", "emptyDir"),
				"tolerations":      p.list("key", "value"),
				"nodeSelector":     p.strings,
				"imagePullSecrets": p.list("name", "x"),
				"nodeName":         r.scalar,
			}, "containers", "volumes", "tolerations")
		},
		"status": func() any {
			return p.object(map[string]func() any{
				"conditions": p.list("type", "status"),
				"podIPs":     p.list("ip", "x"),
				"phase":      r.scalar,
			}, "conditions", "podIPs")
		},
	})
}

type podMaker struct {
	random
	asPatch bool
}

// object has some of the fields, and directives for the named lists.
func (p podMaker) object(fields map[string]func() any, lists ...string) map[string]any {
	m := map[string]any{}
	for _, name := range sortedKeys(fields) {
		if p.chance(60) {
			m[name] = fields[name]()
		}
		if p.asPatch && p.chance(4) {
			m[name] = nil
		}
	}
	if !p.asPatch {
		return m
	}
	if p.chance(4) {
		m["$patch"] = pick(p.random, "replace", "delete", "merge")
	}
	if p.chance(5) {
		m["$retainKeys"] = keysOf(m)
	}
	for _, name := range lists {
		if l, ok := m[name].([]any); ok && p.chance(25) {
			m["$setElementOrder/"+name] = p.order(l, name)
		}
		if _, both := m["$setElementOrder/"+name]; name == "finalizers" && !both && m[name] == nil && p.chance(20) {
			m["$deleteFromPrimitiveList/"+name] = p.set()
		}
	}
	return m
}

// order names the elements of l and some more.
func (p podMaker) order(l []any, name string) []any {
	key := map[string]string{"containers": "name", "volumes": "name", "conditions": "type", "podIPs": "ip", "ownerReferences": "uid"}[name]
	out := []any{}
	for _, v := range l {
		m, ok := v.(map[string]any)
		switch {
		case !ok:
			out = append(out, v)
		case m["$patch"] == nil && key != "":
			out = append(out, map[string]any{key: m[key]})
		}
		if p.chance(30) && key != "" {
			out = append(out, map[string]any{key: pick(p.random, "d", "e")})
		}
	}
	return out
}

func (p podMaker) strings() any {
	return p.object(map[string]func() any{"a": p.scalarString, "b": p.scalarString, "c": p.scalarString})
}

func (p podMaker) scalarString() any { return pick(p.random, "x", "y") }

func (p podMaker) set() any {
	l := []any{}
	for _, i := range p.Perm(5)[:p.IntN(4)] {
		l = append(l, "abcde"[i:i+1])
	}
	return l
}

// list has elements with distinct keys, as the API demands.
func (p podMaker) list(key, other string) func() any {
	return func() any {
		l := []any{}
		for _, i := range p.Perm(5)[:p.IntN(5)] {
			l = append(l, p.element(key, "abcde"[i:i+1], other))
		}
		return l
	}
}

func (p podMaker) element(key, id, other string) map[string]any {
	m := map[string]any{key: id}
	if p.chance(70) {
		m[other] = p.scalarString()
	}
	if p.asPatch && p.chance(10) {
		m[other] = nil
	}
	if p.asPatch && p.chance(10) {
		m["$patch"] = pick(p.random, "delete", "delete", "replace", "merge")
	}
	if p.asPatch && p.chance(3) {
		delete(m, key)
	}
	return m
}

func (p podMaker) containers() any {
	l := p.list("name", "image")().([]any)
	for _, c := range l {
		if p.chance(50) {
			c.(map[string]any)["env"] = p.list("name", "value")()
		}
		if p.chance(30) {
			c.(map[string]any)["args"] = p.set()
		}
	}
	return l
}
