package hostile_test

import (
	"fmt"
	"slices"
	"strings"
)

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func sorted(all []attack) []attack {
	slices.SortFunc(all, func(a, b attack) int { return strings.Compare(a.name, b.name) })
	return all
}

// repeated returns a list of n operations.
func repeated(n int, operation func(i int) string) string {
	var b strings.Builder
	b.WriteString("[")
	for i := range n {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(operation(i))
	}
	return b.String() + "]"
}

func same(operation string) func(int) string { return func(int) string { return operation } }

// patches are patches of a ConfigMap and of a custom object with long lists.
func patches() (all []attack) {
	for name, patch := range map[string]func() string{
		"copies that double": func() string {
			return repeated(22, func(i int) string { return fmt.Sprintf(`{"op": "copy", "from": "/data", "path": "/data/k%d"}`, i) })
		},
		"more copies that double": func() string {
			return repeated(60, func(i int) string { return fmt.Sprintf(`{"op": "copy", "from": "/data", "path": "/data/k%d"}`, i) })
		},
		"copies of the whole object": func() string {
			return repeated(40, func(i int) string { return fmt.Sprintf(`{"op": "copy", "from": "", "path": "/data/k%d"}`, i) })
		},
		"40,000 inserts": func() string {
			return repeated(40_000, same(`{"op": "add", "path": "/metadata/finalizers/0", "value": "a/b"}`))
		},
		"9,999 inserts": func() string {
			return repeated(9_999, same(`{"op": "add", "path": "/metadata/finalizers/0", "value": "a/b"}`))
		},
		"9,999 removals": func() string { return repeated(9_999, same(`{"op": "remove", "path": "/metadata/finalizers/0"}`)) },
		"9,999 moves": func() string {
			return repeated(9_999, same(`{"op": "move", "from": "/metadata/finalizers/0", "path": "/metadata/finalizers/2900"}`))
		},
		"45,000 tests": func() string { return repeated(45_000, same(`{"op": "test", "path": "/data/a", "value": "x"}`)) },
		"9,999 tests of the object": func() string {
			return repeated(9_999, same(`{"op": "test", "path": "/metadata/finalizers", "value": []}`))
		},
		"9,999 copies of a text": func() string {
			return repeated(9_999, func(i int) string { return fmt.Sprintf(`{"op": "copy", "from": "/data/a", "path": "/data/q%d"}`, i%10) })
		},
		"a deep path": func() string { return `[{"op": "add", "path": "` + strings.Repeat("/a", 200_000) + `", "value": 1}]` },
		"a path of escapes": func() string {
			return `[{"op": "add", "path": "/data/` + strings.Repeat("~1~0", 200_000) + `", "value": "1"}]`
		},
		"an index of a billion": func() string {
			return `[{"op": "add", "path": "/metadata/finalizers/999999999999999999999", "value": "a/b"}]`
		},
		"a negative index":              func() string { return `[{"op": "replace", "path": "/metadata/finalizers/-99999", "value": "a/b"}]` },
		"operations that are none":      func() string { return repeated(9_999, same(`1`)) },
		"the object replaced by a list": func() string { return `[{"op": "replace", "path": "", "value": []}]` },
		"the object moved into itself":  func() string { return `[{"op": "move", "from": "/data", "path": "/data/a/b"}]` },
	} {
		all = append(all, attack{"a JSON patch of " + name, func(c *client) {
			c.post(configMaps, `{"metadata": {"name": "target"}, "data": {"a": "`+strings.Repeat("x", 1000)+`"}}`)
			c.patch(configMaps+"/target", mergeType, `{"metadata": {"finalizers": `+repeated(3000, func(i int) string { return fmt.Sprintf(`"a/b%05d"`, i) })+`}}`)
			c.patch(configMaps+"/target", patchType, patch())
			c.patch(configMaps+"/target", mergeType, `{"metadata": {"finalizers": null}}`)
		}})
	}
	for name, patch := range map[string]func() string{
		"20,000 ports": func() string {
			return `{"spec": {"ports": ` + repeated(20_000, func(i int) string { return fmt.Sprintf(`{"port": %d, "name": "p%d"}`, i%60_000+1, i) }) + `}}`
		},
		"20,000 orders": func() string {
			return `{"spec": {"$setElementOrder/ports": ` + repeated(20_000, func(i int) string { return fmt.Sprintf(`{"port": %d}`, i) }) + `}}`
		},
		"20,000 deletions": func() string {
			return `{"spec": {"ports": ` + repeated(20_000, func(i int) string { return fmt.Sprintf(`{"$patch": "delete", "port": %d}`, i) }) + `}}`
		},
		"20,000 primitive ones": func() string {
			return `{"metadata": {"$deleteFromPrimitiveList/finalizers": ` + repeated(20_000, func(i int) string { return fmt.Sprintf(`"a/b%d"`, i) }) + `}}`
		},
		"directives that are odd": func() string {
			return `{"spec": {"$patch": "replace", "ports": [{"$patch": "merge"}, {"$retainKeys": 1}]}}`
		},
	} {
		all = append(all, attack{"a strategic patch of " + name, func(c *client) {
			c.post("/api/v1/namespaces/hostile/services", `{"metadata": {"name": "target"}, "spec": {"ports": `+repeated(2000, func(i int) string { return fmt.Sprintf(`{"port": %d, "name": "p%d"}`, i+1, i) })+`}}`)
			c.patch("/api/v1/namespaces/hostile/services/target", mixedType, patch())
		}})
	}
	return append(sorted(all),
		attack{"300 field managers", func(c *client) { manage(c, 300) }},
		attack{"managers that update", func(c *client) {
			c.post(configMaps, `{"metadata": {"name": "target"}}`)
			for i := range 300 {
				c.patch(configMaps+"/target?fieldManager=m"+fmt.Sprint(i), mergeType, fmt.Sprintf(`{"data": {"k%d": "v"}}`, i))
			}
		}},
		attack{"managedFields of the client", func(c *client) {
			c.post(configMaps, `{"metadata": {"name": "target", "managedFields": `+repeated(10_000, func(i int) string {
				return fmt.Sprintf(`{"manager": "m%d", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a%d": {}}}}`, i, i)
			})+`}}`)
			c.patch(configMaps+"/target?fieldManager=x", applyType, `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "target"}, "data": {"a": "b"}}`)
		}},
		attack{"an apply of 20,000 fields, again and again", func(c *client) {
			config := `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "target"}, "data": ` + members(20_000) + `}`
			for i := range 2 {
				c.patch(fmt.Sprintf("%s/target?force=true&fieldManager=m%d", configMaps, i), applyType, config)
			}
		}},
	)
}

// manage applies as many managers to one object.
func manage(c *client, n int) {
	for i := range n {
		c.patch(fmt.Sprintf("%s/target?fieldManager=m%d", configMaps, i), applyType, fmt.Sprintf(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "target"}, "data": {"k%d": "v"}}`, i))
	}
}

// selectors are lists and watches with large and odd selectors.
func selectors() (all []attack) {
	values := func(n int, form string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, form, i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	for name, query := range map[string]string{
		"notin of 90,000":             "labelSelector=a1%20notin%20(" + values(90_000, "v%d,") + ")",
		"in of 90,000":                "labelSelector=a1%20in%20(" + values(90_000, "v%d,") + ")",
		"20,000 inequalities":         "labelSelector=" + values(20_000, "a!=v%d,"),
		"10,000 fields":               "fieldSelector=" + values(10_000, "metadata.name!=v%d,"),
		"a key of a megabyte":         "labelSelector=" + strings.Repeat("a", 1<<19),
		"brackets":                    "labelSelector=" + strings.Repeat("(", 1<<19),
		"an unknown field":            "fieldSelector=spec.x=1",
		"a field without an operator": "fieldSelector=metadata.name",
		"escapes":                     "fieldSelector=metadata.name%3D" + strings.Repeat("%5C", 1<<17),
	} {
		all = append(all, attack{"a list of " + name, func(c *client) {
			fill(c, 200)
			inParallel(2, func(int) { c.get("/api/v1/configmaps?" + query) })
		}}, attack{"a watch of " + name, func(c *client) {
			fill(c, 20)
			inParallel(2, func(int) { c.get("/api/v1/configmaps?watch=1&timeoutSeconds=1&" + query) })
		}})
	}
	return sorted(all)
}

// fill creates ConfigMaps with many labels.
func fill(c *client, n int) {
	labels := repeated(50, func(i int) string { return fmt.Sprintf(`"a%d": "v"`, i) })
	inParallel(n, func(i int) {
		c.post(configMaps, fmt.Sprintf(`{"metadata": {"name": "s%d", "labels": {%s}}}`, i, labels[1:len(labels)-1]))
	})
}
