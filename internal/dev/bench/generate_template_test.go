package bench

import (
	"fmt"
	"strconv"
	"strings"
)

// mapping makes a template that renders to a YAML mapping.
func (g *generator) mapping() string {
	var b strings.Builder
	if g.oneIn(2) {
		b.WriteString("{{ $now := Now }}\n{{ $root := . }}\n")
	}
	for i := range 1 + g.IntN(4) {
		b.WriteString(strings.ReplaceAll(g.entry(), "@", strconv.Itoa(i)))
	}
	return b.String()
}

// entry makes a line or a block of a mapping; @ is replaced by its number, so that keys differ.
func (g *generator) entry() string {
	return either(g, g.fixed, g.fixed, g.value, g.value, g.pipeline, g.block, g.block)
}

func (g *generator) fixed() string {
	return pick(g, "phase@: Running\n", "y@: yes\n", "n@: 012\n", "f@: 1.50\n", "t@: 2024-05-06\n", "q@: 'a: b'\n", "# comment @\n", "l@: [a, 1, ~]\n", "m@: {a: 1}\n",
		"b@: |\n  two\n  lines\n", "o@: >-\n  folded\n  text\n", "z@: ~\n", "e@:\n", "a@: &x [1]\nc@: *x\n", "h@: 0x1F\n", "oct@: 0o17\n", "inf@: \"on\"\n", "on@: off\n",
		"ip@: {{ NodeIPWith \"n\" | Quote }}\n", "ips@: {{ YAML (PodIPsWith \"n\" false \"u\" \"a\" \"b\") 1 }}\n", "cond@: {{ YAML NodeConditions 1 }}\n",
		"v@: {{ Version }}\n", "p@: {{ NodePort }}\n", "esc@: \"\\u00e9\\t\"\n", "1@: int key\n", "true@: x\n", "multi@:\n- a\n- b: 1\n  c: 2\n", "u@: é\n")
}

// templatePath is a chain of fields, or a call of index if a key is not an identifier.
func (g *generator) templatePath() string {
	expr, plain := "", true
	for _, s := range g.place(g.object).steps {
		key, isKey := s.(string)
		switch {
		case isKey && plain && identifier.MatchString(key):
			expr += "." + key
		default:
			expr, plain = fmt.Sprintf("(index %s %#v)", or(expr), s), false
		}
	}
	return or(expr)
}

func or(expr string) string {
	if expr == "" {
		return "."
	}
	return expr
}

func (g *generator) value() string {
	p := g.templatePath()
	return "k@: {{ " + p + pick(g, "", " | Quote", " | Quote", " | quote", " | toJson", " | toString | Quote") + " }}\n"
}

func (g *generator) pipeline() string {
	p := g.templatePath()
	return "k@: {{ " + pick(g,
		p+" | default \"d\"", "default 3 "+p, "or "+p+" \"none\"", "printf \"%v-%s\" "+p+" .kind", "len "+p, "not "+p, "ternary \"a\" \"b\" (eq .kind \"Pod\")",
		p+" | toString | upper", p+" | toString | trunc 3", p+" | toString | b64enc", p+" | toString | sha256sum", "list "+p+" 1 | toJson", "dict \"a\" "+p+" | toJson",
		".metadata.labels | keys | sortAlpha | join \",\" | quote", "add 1 (int "+p+")", "mul 2 3", "index .spec.containers 0 | toJson", "hasKey .metadata \"labels\"",
		p+" | toJson | quote", "coalesce "+p+" \"z\"", "empty "+p, ".metadata.name | replace \"e\" \"3\" | quote", "regexMatch \"^w\" .metadata.name", p+" | kindOf",
		"eq "+p+" "+p, "and "+p+" true", "ne .kind \"x\"", "eq .metadata.generation 1", "gt (len .metadata.name) 3", "printf \"%d\" (int64 "+p+")", "get .metadata \"uid\" | quote",
		"omit .metadata \"annotations\" \"labels\" | toJson", "until 3 | toJson", "first .spec.containers | toJson", "dig \"spec\" \"x\" \"dflt\" .", "snakecase \"aB\"", "round 2.345 1",
		"date \"2006\" (toDate \"2006-01-02\" \"2024-05-06\")", "splitList \"-\" .metadata.name | toJson", "semver \"1.2.3\" | toJson", ".nope.deeper", "html \"<a>\" | quote", "(index . \"spec\").replicas",
		"cat 1 "+p+" | quote", "int "+p, "float64 "+p, "toString "+p+" | quote", "max 1 (int "+p+")", "slice .metadata.name 0 2", "printf \"%q\" .metadata.name", "urlquery .metadata.name") + " }}\n"
}

func (g *generator) block() string {
	p := g.templatePath()
	return pick(g,
		"k@:\n{{ range .spec.containers }}\n- name: {{ .name | Quote }}\n  image: {{ .image | Quote }}\n  ready: true\n{{ end }}\n",
		"k@:\n{{ range $i, $c := .spec.containers }}\n{{ $o := index $.status.containerStatuses $i }}\n- n: {{ $i }}\n  o: {{ $o.name }}\n{{ end }}\n",
		"{{ if "+p+" }}\nk@: yes\n{{ else }}\nk@: no\n{{ end }}\n",
		"{{ with "+p+" }}\nk@: {{ . | toJson }}\n{{ end }}\n",
		"{{ range $k, $v := .metadata.labels }}\n\"@-{{ $k }}\": {{ $v | Quote }}\n{{ end }}\n",
		"k@: {{ YAML "+p+" 1 }}\n",
		"k@:\n{{ YAML .status.conditions }}\n",
		"k@:\n{{ YAML "+p+" 2 }}\n",
		"k@: {{- if and .spec.paused (not .status.phase) }} a {{- else if .spec.mode }} b {{- end }}\n",
		"{{ define \"t\" }}x-{{ . }}{{ end }}k@: {{ template \"t\" .metadata.name }}\n",
		"k@: {{ range $i := until 3 }}{{ if eq $i 1 }}{{ continue }}{{ end }}{{ $i }}{{ end }}\n",
		"{{ $x := "+p+" }}k@: {{ $x | Quote }}\n",
		"k@:\n{{ range .status.conditions }}\n{{ if ne .type \"Ready\" }}\n- {{ . | toJson }}\n{{ end }}\n{{ end }}\n",
	)
}

// operations makes a template that renders to a JSON patch.
func (g *generator) operations() string {
	p := g.templatePath()
	text := ""
	for range 1 + g.IntN(2) {
		text += pick(g,
			"- {op: add, path: /x, value: {{ "+p+" | toJson }}}\n",
			"- op: replace\n  path: /phase\n  value: Running\n",
			"- {op: remove, path: /a~1b}\n",
			"- {op: test, path: /n, value: null}\n",
			"- {op: add, path: /conditions/-, value: {type: Ready}}\n",
			"- {op: copy, from: /a, path: /b}\n",
			"{{ range .spec.containers }}\n- {op: add, path: /c, value: {{ .name | Quote }}}\n{{ end }}\n")
	}
	return text
}
