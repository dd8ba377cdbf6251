package hostile_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"strings"
)

// sends is an attack of requests, one after another.
func sends(name string, all ...request) attack {
	return attack{name, func(c *client) {
		for _, r := range all {
			c.send(r)
		}
	}}
}

// bodies are deep and long bodies.
func bodies() (all []attack) {
	for _, depth := range []int{1000, 9990, 10_001, 200_000} {
		for _, at := range places() {
			all = append(all, attack{fmt.Sprintf("%s, %d deep", at.name, depth), func(c *client) { at.send(c, deep(depth, at.isYAML)) }})
		}
	}
	for _, size := range []int{1 << 20, 29 << 16, 3 << 20} {
		for _, at := range places() {
			all = append(all, attack{fmt.Sprintf("%s, %d KiB long", at.name, size>>10), func(c *client) { at.send(c, `"`+strings.Repeat("x", size)+`"`) }})
		}
	}
	for _, n := range []int{5000, 100_000} {
		for _, at := range places() {
			all = append(all, attack{fmt.Sprintf("%s, %d members", at.name, n), func(c *client) { at.send(c, members(n)) }})
		}
	}
	bomb := func() string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(make([]byte, 20<<20))
		_ = z.Close()
		return b.String()
	}
	return append(all,
		sends("a body of 50 MB", request{method: "POST", path: configMaps, kind: jsonType, body: func() string { return strings.Repeat(" ", 50<<20) }}),
		sends("a bomb in gzip", request{method: "POST", path: configMaps, kind: jsonType, body: bomb, header: map[string]string{"Content-Encoding": "gzip"}}),
		sends("a bomb in gzip, as YAML", request{method: "POST", path: configMaps, kind: yamlType, body: bomb, header: map[string]string{"Content-Encoding": "gzip"}}),
		sends("the same member a million times", request{method: "POST", path: configMaps, kind: jsonType, body: func() string {
			return `{"metadata": {"name": "a"}, "data": {` + strings.Repeat(`"a":"",`, 300_000) + `"a":""}}`
		}}),
		sends("an unfinished object", request{method: "POST", path: configMaps, kind: jsonType, body: func() string { return strings.Repeat(`{"a":[`, 400_000) }}),
		sends("numbers of a megabyte", request{method: "POST", path: customs, kind: jsonType, body: func() string {
			return `{"apiVersion": "hostile.io/v1", "kind": "Thing", "metadata": {"name": "n"}, "spec": {"n": ` + strings.Repeat("9", 1<<20) + `}}`
		}}),
		sends("an exponent of a billion", request{method: "POST", path: customs, kind: jsonType, body: text(`{"apiVersion": "hostile.io/v1", "kind": "Thing", "metadata": {"name": "n"}, "spec": {"n": 1e999999999}}`)}),
	)
}

// A place is where a request has a value.
type place struct {
	name   string
	isYAML bool
	send   func(c *client, value string)
}

func places() []place {
	created := func(path, kind, object string) func(*client, string) {
		return func(c *client, value string) {
			c.send(request{method: "POST", path: path, kind: kind, body: text(strings.Replace(object, "$", value, 1))})
		}
	}
	patched := func(path, kind, object, patch string) func(*client, string) {
		return func(c *client, value string) {
			c.post(path, object)
			c.patch(path+"/target?fieldManager=x", kind, strings.Replace(patch, "$", value, 1))
		}
	}
	const (
		configMap = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "target"}`
		custom    = `{"apiVersion": "hostile.io/v1", "kind": "Thing", "metadata": {"name": "target"}`
	)
	return []place{
		{"a new ConfigMap", false, created(configMaps, jsonType, configMap+`, "data": {"a": $}}`)},
		{"a new ConfigMap in YAML", true, created(configMaps, yamlType, configMap+`, "data": {"a": $}}`)},
		{"an unknown field", false, created(configMaps, jsonType, configMap+`, "x": $}`)},
		{"an annotation", false, created(configMaps, jsonType, strings.Replace(configMap, `{"name"`, `{"annotations": {"a": $}, "name"`, 1)+`}`)},
		{"a merge patch", false, patched(configMaps, mergeType, configMap+`}`, `{"data": {"a": $}}`)},
		{"a strategic patch", false, patched(configMaps, mixedType, configMap+`}`, `{"data": {"a": $}}`)},
		{"a JSON patch", false, patched(configMaps, patchType, configMap+`}`, `[{"op": "add", "path": "/data", "value": {"a": $}}]`)},
		{"an apply", true, patched(configMaps, applyType, configMap+`}`, configMap+`, "data": {"a": $}}`)},
		{"a new custom object", false, created(customs, jsonType, custom+`, "spec": {"a": $}}`)},
		{"a custom object in YAML", true, created(customs, yamlType, custom+`, "spec": {"a": $}}`)},
		{"a merge patch of a custom object", false, patched(customs, mergeType, custom+`}`, `{"spec": {"a": $}}`)},
		{"an apply of a custom object", true, patched(customs, applyType, custom+`}`, custom+`, "spec": {"a": $}}`)},
		{"options of a deletion", true, func(c *client, value string) {
			c.post(configMaps, configMap+`}`)
			c.send(request{method: "DELETE", path: configMaps + "/target", kind: jsonType, body: text(`{"apiVersion": "v1", "kind": "DeleteOptions", "x": ` + value + `}`)})
		}},
	}
}

// deep returns a value inside so many others. A list in YAML is shorter to read than a map.
func deep(depth int, isYAML bool) string {
	if isYAML {
		return strings.Repeat("[", depth) + strings.Repeat("]", depth)
	}
	return strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
}

func members(n int) string {
	var b strings.Builder
	b.WriteString("{")
	for i := range n {
		fmt.Fprintf(&b, `"k%d":"",`, i)
	}
	return b.String() + `"k":""}`
}

// aliases are aliases in YAML.
func aliases() (all []attack) {
	var bomb strings.Builder
	bomb.WriteString("{a0: &a0 [x,x,x,x,x,x,x,x,x]")
	for i := range 9 {
		fmt.Fprintf(&bomb, ", a%d: &a%d [%s]", i+1, i+1, strings.Join(strings.Split(strings.Repeat(fmt.Sprintf("*a%d ", i), 9), " ")[:9], ","))
	}
	bomb.WriteString("}")
	of := func(length, n int) string {
		return fmt.Sprintf(`{a: &a "%s", x: [%s]}`, strings.Repeat("y", length), strings.TrimSuffix(strings.Repeat("*a,", n), ","))
	}
	values := map[string]string{
		"a bomb of aliases":        bomb.String(),
		"a long text often":        of(1000, 700_000),
		"a very long text":         of(1<<20, 1000),
		"an empty text very often": of(0, 900_000),
		"an alias of itself":       "&a [*a, *a]",
		"merged maps":              "{a: &a {b: c}, x: [" + strings.Repeat("{<<: *a}, ", 100_000) + "]}",
		"an unknown alias":         "[" + strings.Repeat("*z, ", 100_000) + "]",
	}
	for _, at := range places() {
		if !at.isYAML {
			continue
		}
		for _, name := range sortedKeys(values) {
			all = append(all, attack{name + " in " + at.name, func(c *client) { at.send(c, values[name]) }})
		}
	}
	return all
}

// media are bodies of odd types.
func media() (all []attack) {
	frame := func(data string) func() string { return text("k8s\x00" + data) }
	nested := func(n int) string { // messages in field 1, each in the next
		data := []byte{}
		for range n {
			data = append(binary.AppendUvarint([]byte{0x0a}, uint64(len(data))), data...)
		}
		return string(data)
	}
	for name, r := range map[string]request{
		"CBOR":                      {kind: "application/cbor", body: text("\xd9\xd9\xf7\xa1\x61a\x5b\xff\xff\xff\xff\xff\xff\xff\xff")},
		"CBOR of deep lists":        {kind: "application/cbor", body: func() string { return strings.Repeat("\x81", 1<<20) }},
		"a sequence of CBOR":        {kind: "application/cbor-seq", body: func() string { return strings.Repeat("\xa0", 1<<20) }},
		"protobuf without a frame":  {kind: protobuf, body: text("abc")},
		"protobuf of nothing":       {kind: protobuf, body: frame("")},
		"protobuf that lies":        {kind: protobuf, body: frame("\x0a\xff\xff\xff\xff\x0f")},
		"protobuf of deep messages": {kind: protobuf, body: func() string { return "k8s\x00" + nested(2000) }},
		"protobuf of zeros":         {kind: protobuf, body: func() string { return "k8s\x00" + strings.Repeat("\x00", 1<<20) }},
		"no type":                   {body: text(`{"metadata": {"name": "a"}}`)},
		"a type of a megabyte":      {kind: "application/" + strings.Repeat("x", 1<<19), body: text("{}")},
		"a type with parameters":    {kind: jsonType + "; charset=utf-16; a=b", body: text("\xff\xfe{\x00}\x00")},
		"text that is no UTF-8": {kind: jsonType, body: func() string {
			return `{"metadata": {"name": "a"}, "data": {"a": "` + strings.Repeat("\xff", 1<<20) + `"}}`
		}},
		"zeros":         {kind: jsonType, body: func() string { return strings.Repeat("\x00", 1<<20) }},
		"an empty body": {kind: jsonType, body: text("")},
		"null":          {kind: jsonType, body: text("null")},
		"a list of objects": {kind: jsonType, body: func() string {
			return `{"kind": "List", "apiVersion": "v1", "items": [` + strings.Repeat("{},", 100_000) + "{}]}"
		}},
	} {
		r.method, r.path = "POST", configMaps
		all = append(all, sends("a body: "+name, r))
	}
	return sorted(all)
}
