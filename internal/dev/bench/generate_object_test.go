package bench

import (
	"fmt"
	"maps"
	"slices"
)

// anObject makes a Pod, a Node or a custom resource, with parts missing or of the wrong type now
// and then.
func (g *generator) anObject() map[string]any {
	obj := either(g, g.pod, g.pod, g.node, g.widget, g.widget)
	for _, part := range []string{"spec", "status"} {
		if g.oneIn(20) {
			delete(obj, part)
		} else {
			obj[part] = g.damaged(obj[part])
		}
	}
	return obj
}

func (g *generator) metadata() map[string]any {
	m := map[string]any{
		"name":              pick(g, "web", "web-0", "a.b"),
		"uid":               "5d0f",
		"generation":        int64(g.IntN(4)),
		"creationTimestamp": pick(g, "2024-05-06T07:00:00Z", "2024-01-01T00:00:00Z"),
		"resourceVersion":   "12",
	}
	optional := map[string]func() any{
		"labels":            func() any { return g.pairs("app", "tier", "kwok.io/kind") },
		"annotations":       func() any { return g.annotations() },
		"deletionTimestamp": func() any { return pick(g, "2024-05-06T07:08:39Z", "2024-05-06T07:08:00Z") },
		"finalizers":        func() any { return list(g, 3, func() any { return pick(g, "a.io/a", "b.io/b", "c") }) },
		"ownerReferences":   func() any { return []any{map[string]any{"kind": pick(g, "Job", "ReplicaSet"), "name": "o"}} },
	}
	for _, k := range slices.Sorted(maps.Keys(optional)) {
		if g.oneIn(2) {
			m[k] = optional[k]()
		}
	}
	if f, ok := m["finalizers"].([]any); ok {
		m["finalizers"] = slices.CompactFunc(f, func(a, b any) bool { return a == b })
	}
	return m
}

func (g *generator) pairs(keys ...string) map[string]any {
	m := map[string]any{}
	for _, k := range keys {
		if g.oneIn(2) {
			m[k] = g.word()
		}
	}
	return m
}

// texts are annotation values that weights and delays are read from.
var texts = []string{"5s", "100ms", "-3s", "1m30s", "", "bogus", "5", "0", "-2", "0x10", "1_0", "1.5", " 5", "010", "9223372036854775808", "9223372036854775807", "2562048h",
	"2024-05-06T07:08:19Z", "2024-05-06T07:08:00.5Z", "2024-05-06T09:08:19+02:00", "5 minutes", "true"}

func (g *generator) annotations() map[string]any {
	m := g.pairs("note", "kwok.io/x")
	for _, k := range []string{"kwok.io/weight", "kwok.io/delay", "kwok.io/jitter"} {
		if g.oneIn(2) {
			m[k] = pick(g, texts...)
		}
	}
	return m
}

func (g *generator) conditions() []any {
	return list(g, 3, func() any {
		return map[string]any{
			"type":               pick(g, "Ready", "Initialized", "Scheduled"),
			"status":             pick(g, "True", "False", "Unknown"),
			"lastTransitionTime": "2024-05-06T07:00:00Z",
			"observedGeneration": int64(g.IntN(3)),
		}
	})
}

func (g *generator) pod() map[string]any {
	meta := g.metadata()
	meta["namespace"] = pick(g, "default", "n")
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": meta,
		"spec": map[string]any{
			"nodeName":                      "node-1",
			"hostNetwork":                   g.oneIn(2),
			"priority":                      int64(g.IntN(3)),
			"terminationGracePeriodSeconds": int64(30),
			"containers":                    g.containers("main", "side"),
			"initContainers":                g.containers("init"),
		},
		"status": map[string]any{
			"phase":             pick(g, "Pending", "Running", "Succeeded", "Failed"),
			"podIP":             pick(g, "10.0.0.3", ""),
			"conditions":        g.conditions(),
			"containerStatuses": list(g, 2, g.containerStatus),
		},
	}
}

func (g *generator) containers(names ...string) []any {
	var items []any
	for _, n := range names {
		items = append(items, map[string]any{
			"name": n, "image": pick(g, "busybox", "nginx:1.27"),
			"args":      pick(g, []any{"sleep", "10s"}, []any{"sleep"}, []any{}),
			"resources": map[string]any{"requests": map[string]any{"cpu": pick(g, "100m", "1", "2.5"), "memory": "64Mi"}},
		})
	}
	return items
}

func (g *generator) containerStatus() any {
	return map[string]any{
		"name":         pick(g, "main", "side"),
		"ready":        g.oneIn(2),
		"restartCount": int64(g.IntN(3)),
		"state": pick(g,
			map[string]any{"running": map[string]any{"startedAt": "2024-05-06T07:00:00Z"}},
			map[string]any{"waiting": map[string]any{"reason": "ContainerCreating"}},
			map[string]any{"terminated": map[string]any{"exitCode": int64(g.IntN(2))}}),
	}
}

func (g *generator) node() map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Node", "metadata": g.metadata(),
		"spec": map[string]any{
			"podCIDRs":      list(g, 2, func() any { return "10.1.0.0/24" }),
			"unschedulable": g.oneIn(2),
			"taints":        list(g, 2, func() any { return map[string]any{"key": g.word(), "effect": "NoSchedule"} }),
		},
		"status": map[string]any{
			"conditions":  g.conditions(),
			"capacity":    map[string]any{"cpu": pick(g, "4", "32"), "pods": "110"},
			"addresses":   list(g, 2, func() any { return map[string]any{"type": "InternalIP", "address": "10.0.0.7"} }),
			"allocatable": map[string]any{},
		},
	}
}

func (g *generator) widget() map[string]any {
	return map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": g.metadata(),
		"spec": map[string]any{
			"replicas": int64(g.IntN(4)),
			"ratio":    pick(g, 0.5, 2.5, 0.1),
			"paused":   g.oneIn(2),
			"mode":     pick(g, "fast", "slow", ""),
			"duration": pick(g, texts...),
			"weight":   int64(g.IntN(5)),
			"big":      pick(g, int64(7), int64(9007199254740993), int64(-9223372036854775808)),
			"items":    list(g, 3, func() any { return g.word() }),
			"parts": list(g, 3, func() any {
				return map[string]any{"name": g.word(), "size": int64(g.IntN(5)), "on": g.oneIn(2)}
			}),
			"nested": map[string]any{"a/b": g.word(), "deep": map[string]any{"k": g.word()}, "nil": nil},
		},
		"status": map[string]any{
			"observedGeneration": int64(g.IntN(4)),
			"replicas":           int64(g.IntN(4)),
			"phase":              pick(g, "Pending", "Running", "Done"),
			"conditions":         g.conditions(),
			"counts":             []any{int64(1), int64(g.IntN(3)), 2.5},
		},
	}
}

// damaged leaves out or changes a few values.
func (g *generator) damaged(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range sortedKeys(v) {
			if g.oneIn(10) {
				delete(v, k)
			} else {
				v[k] = g.damaged(v[k])
			}
		}
	case []any:
		for i := range v {
			v[i] = g.damaged(v[i])
		}
	}
	if g.oneIn(150) {
		return pick[any](g, nil, int64(7), "text", true, []any{}, map[string]any{}, 1.5, []any{nil, "x"}, fmt.Sprint(g.IntN(9)))
	}
	return v
}
