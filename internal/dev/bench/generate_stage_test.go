package bench

import (
	"maps"
	"strings"
)

// stage makes a Stage for the object of the case.
func (g *generator) stage(name string) map[string]any {
	spec := map[string]any{
		"resourceRef": map[string]any{"apiGroup": g.object["apiVersion"], "kind": g.object["kind"]},
		"selector":    g.selector(),
	}
	if g.oneIn(2) {
		spec["weight"] = int64(g.IntN(4))
	}
	if g.oneIn(3) {
		spec["weightFrom"] = g.from("kwok.io/weight")
	}
	if g.oneIn(2) {
		spec["delay"] = g.delay()
	}
	if g.oneIn(4) {
		spec["immediateNextStage"] = true
	}
	form := g.IntN(10) // of the effects; exported Stages have both
	if form < 6 {
		spec["next"] = g.next()
	}
	if form > 4 {
		spec["steps"] = list(g, 3, g.step)
	}
	return map[string]any{
		"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": map[string]any{"name": name}, "spec": spec,
	}
}

func (g *generator) selector() map[string]any {
	s := map[string]any{}
	for _, of := range []string{"labels", "annotations"} {
		have, _ := g.object["metadata"].(map[string]any)[of].(map[string]any)
		if len(have) > 0 && g.oneIn(8) {
			key := pick(g, sortedKeys(have)...)
			s["match"+strings.ToUpper(of[:1])+of[1:]] = map[string]any{key: pick(g, have[key], have[key], "x")}
		}
	}
	if expressions := list(g, 3, g.expression); len(expressions) > 0 {
		s["matchExpressions"] = expressions
	}
	return s
}

func (g *generator) expression() any {
	if g.oneIn(4) {
		return map[string]any{"cel": map[string]any{"expression": g.celBool(2)}}
	}
	key, values := g.selectorJQ()
	e := map[string]any{"key": key, "operator": pick(g, "In", "In", "In", "NotIn", "Exists", "Exists", "DoesNotExist")}
	if strings.HasSuffix(e["operator"].(string), "In") {
		e["values"] = values
	}
	if g.oneIn(2) {
		e = map[string]any{"jq": e}
	}
	if g.lenient && g.oneIn(3) {
		e["cel"] = map[string]any{"expression": g.celBool(1)} // in addition to jq
	}
	return e
}

// from makes an expression for a value, mostly the value of an annotation.
func (g *generator) from(annotation string) map[string]any {
	path := g.jqPath([]any{"metadata", "annotations", annotation})
	jq := pick(g, path, path, path, ".metadata.deletionTimestamp", ".spec.duration", ".spec.containers[0].args[1]", ".spec.weight", `.spec.duration // "2s"`,
		`"5s"`, `""`, "empty", "null", "error", g.jq(g.place(g.object), 1), g.jq(g.place(g.object), 1), path+", "+g.jqFilter(), "null, "+path)
	inJQ := pick(g, map[string]any{"jq": map[string]any{"expression": jq}}, map[string]any{"expressionFrom": jq})
	inCEL := map[string]any{"cel": map[string]any{"expression": g.celValue()}}
	if g.lenient && g.oneIn(3) {
		maps.Copy(inJQ, inCEL)
	}
	return pick(g, inJQ, inJQ, inJQ, inCEL)
}

func (g *generator) delay() map[string]any {
	d := map[string]any{}
	for _, name := range []string{"duration", "jitterDuration"} {
		if g.oneIn(2) {
			d[name+"Milliseconds"] = int64(g.IntN(5) * 500)
		}
		if g.oneIn(2) {
			d[name+"From"] = g.from(pick(g, "kwok.io/delay", "kwok.io/jitter"))
		}
	}
	return d
}

func (g *generator) event() map[string]any {
	return map[string]any{"type": pick(g, "Normal", "Warning"), "reason": g.word(), "message": "as it is {{ .x }}"}
}

func (g *generator) finalizers() map[string]any {
	f := map[string]any{}
	item := func() any { return map[string]any{"value": pick(g, "a.io/a", "b.io/b", "c", "d")} }
	for _, field := range []string{"add", "remove"} {
		if g.oneIn(2) {
			f[field] = list(g, 2, item)
		}
	}
	if g.oneIn(5) {
		f["empty"] = true
	}
	return f
}

func (g *generator) step() any {
	s := map[string]any{}
	if g.oneIn(3) {
		s["event"] = g.event()
	}
	if g.oneIn(4) {
		s["finalizers"] = g.finalizers()
	}
	if g.oneIn(10) {
		s["delete"] = true
	}
	if g.oneIn(2) {
		s["patch"] = g.patch()
	}
	if g.oneIn(5) {
		s["apply"] = g.apply()
	}
	return s
}

func (g *generator) next() map[string]any {
	n := map[string]any{}
	if g.oneIn(3) {
		n["event"] = g.event()
	}
	if g.oneIn(3) {
		n["finalizers"] = g.finalizers()
	}
	if g.oneIn(8) {
		n["delete"] = true
	}
	if g.oneIn(4) {
		n["patches"] = list(g, 2, func() any { return g.patch() })
	}
	if g.oneIn(2) {
		n["statusTemplate"] = g.mapping()
	}
	if g.oneIn(4) {
		n["statusSubresource"] = pick(g, "status", "", "other")
	}
	if g.oneIn(6) {
		n["statusPatchAs"] = map[string]any{"username": "kubelet"}
	}
	return n
}

func (g *generator) patch() map[string]any {
	p := map[string]any{"template": g.mapping()}
	if g.oneIn(2) {
		p["type"] = pick(g, "merge", "strategic", "json")
	}
	if p["type"] == "json" {
		p["template"] = g.operations()
	}
	if g.oneIn(2) {
		p["root"] = pick(g, "status", "metadata", "spec")
	}
	if g.oneIn(2) {
		p["subresource"] = pick(g, "status", "", "scale")
	}
	if g.oneIn(5) {
		p["impersonation"] = map[string]any{"username": "kubelet"}
	}
	return p
}

func (g *generator) apply() map[string]any {
	a := map[string]any{"template": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .metadata.name }}\n" + g.mapping()}
	if g.oneIn(10) {
		a["template"] = pick(g, "kind: ConfigMap", "apiVersion: v1", "[]", "{{ .nope }}")
	}
	if g.oneIn(2) {
		a["type"] = pick(g, "apply", "merge", "strategic")
	}
	if g.oneIn(4) {
		a["subresource"] = "status"
	}
	return a
}
