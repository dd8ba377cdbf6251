package render_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/render"
)

var now = time.Date(2006, 1, 2, 15, 4, 5, 600, time.FixedZone("", 3600))

func pod() map[string]any {
	return map[string]any{
		"kind":     "Pod",
		"metadata": map[string]any{"name": "web-0", "namespace": "shop", "uid": "u-1"},
		"spec": map[string]any{
			"nodeName":   "node-0",
			"replicas":   int64(3),
			"share":      2.5,
			"containers": []any{map[string]any{"name": "app", "image": "nginx"}, map[string]any{"name": "log", "image": "fluentd"}},
		},
	}
}

func compile(t testing.TB, text string, o render.Options) *render.Template {
	t.Helper()
	tmpl, err := render.Compile(text, o)
	require.NoError(t, err)
	return tmpl
}

func TestFunctions(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"space at both ends is ignored":             {" \n {{ 1 }} \n", `1`},
		"a missing key prints as in kwok":           {`{{ .nope }} {{ .spec.nope }}`, `<no value> <no value>`},
		"a key of a missing map prints the same":    {`{{ .nope.more }}`, `<no value>`},
		"an empty template is empty":                {``, ``},
		"templates can call templates":              {`{{ define "x" }}<{{ . }}>{{ end }}{{ template "x" .spec.replicas }}`, `<3>`},
		"Quote makes a JSON string":                 {`{{ Quote .metadata.name }} {{ Quote "<\"é" }}`, `"web-0" "\u003c\"é"`},
		"Quote quotes the JSON of other values":     {`{{ Quote 3 }} {{ Quote nil }} {{ Quote true }} {{ Quote (list 1 "a") }}`, `"3" "null" "true" "[1,\"a\"]"`},
		"Quote of a missing key quotes null":        {`{{ .nope | Quote }}`, `"null"`},
		"Now is the time of the input in UTC":       {`{{ Now }}`, `2006-01-02T14:04:05.0000006Z`},
		"now is it too":                             {`{{ now | date "15:04:05" }} {{ htmlDate now }} {{ ago (now | dateModify "-90s") }}`, `14:04:05 2006-01-02 1m30s`},
		"zones have names":                          {`{{ dateInZone "15:04" now "Asia/Tokyo" }} {{ dateInZone "15:04" now "Local" }}`, `23:04 14:04`},
		"durationRound counts from now":             {`{{ durationRound (now | dateModify "-50h") }} {{ durationRound "90s" }}`, `2d 1m`},
		"StartTime and Version are options":         {`{{ StartTime }} {{ Version }}`, `2006-01-02T14:04:05.0000006Z v1.2.3`},
		"YAML keeps its line break":                 {`{{ YAML .spec.containers }}|`, "- image: nginx\n  name: app\n- image: fluentd\n  name: log\n|"},
		"YAML indents by levels from a new line":    {`{{ YAML (dict "a" 1 "b" (list 2)) 1 }}|`, "\n  a: 1\n  b:\n  - 2\n  |"},
		"YAML with an indent of 0 is not indented":  {`{{ YAML (dict "a" 1) 0 }}|{{ YAML (dict "a" 1) 1 2 }}|`, "a: 1\n|a: 1\n|"},
		"NodeConditions are five":                   {`{{ range NodeConditions }}{{ .type }}={{ .status }} {{ end }}`, `Ready=True MemoryPressure=False DiskPressure=False PIDPressure=False NetworkUnavailable=False `},
		"sprig is there":                            {`{{ .metadata.name | upper | trunc 3 }} {{ default "x" .nope }} {{ list 1 2 | join "," }}`, `WEB x 1,2`},
		"keys and values have an order":             {`{{ keys .metadata }} {{ values .metadata }}`, `[name namespace uid] [web-0 shop u-1]`},
		"seq counts as the command does":            {`{{ seq 3 }}|{{ seq 2 4 }}|{{ seq 0 2 5 }}|{{ seq 0 }}|{{ seq 5 -2 0 }}`, `1 2 3|2 3 4|0 2 4|1 0|5 3 1`},
		"untilStep ends where integers do":          {`{{ untilStep 0 9223372036854775807 9223372036854775806 }}`, `[0 9223372036854775806]`},
		"set changes a copy of the object":          {`{{ $_ := set .metadata "name" "x" }}{{ .metadata.name }}`, `x`},
		"set stores a copy":                         {`{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $d }}`, `map[d:map[]]`},
		"merge stores a copy":                       {`{{ $d := dict "a" 1 }}{{ $_ := merge $d (dict "b" $d) }}{{ $d }}`, `map[a:1 b:map[a:1]]`},
		"printf repeats an argument by its index":   {`{{ printf "%[1]s-%[1]s" .metadata.uid }}`, `u-1-u-1`},
		"loops are over lists, maps and numbers":    {`{{ range $i, $c := .spec.containers }}{{ $i }}{{ $c.name }} {{ end }}{{ range $k, $v := .metadata }}{{ $k }}={{ $v }} {{ end }}{{ range $i := 2 }}{{ $i }}{{ end }}`, `0app 1log name=web-0 namespace=shop uid=u-1 01`},
		"loops over nothing have an else":           {`{{ range .nope }}x{{ else }}y{{ end }}{{ range list }}x{{ else }}y{{ end }}`, `yy`},
		"loops break and continue":                  {`{{ range 5 }}{{ if eq . 1 }}{{ continue }}{{ end }}{{ if eq . 3 }}{{ break }}{{ end }}{{ . }}{{ end }}`, `02`},
		"missing values compare with nothing":       {`{{ if eq .nope "Always" }}x{{ end }}{{ eq .nope nil }} {{ ne .nope "a" }} {{ "a" | eq .nope .metadata.name }}`, `true true false`},
		"index finds by names that are computed":    {`{{ index .metadata (print "na" "me") }} {{ "uid" | index .metadata }} {{ index .metadata "nope" }} {{ index .spec.containers 1 "name" }}`, `web-0 u-1 <no value> log`},
		"the user's functions win":                  {`{{ upper "a" }} {{ PodIP }}`, `mine 1.1.1.1`},
		"without an Env a pod has a stable address": {`{{ eq (PodIPWith "n" false "" "a" "b") (PodIPWith "m" false "" "a" "b") }} {{ NodeIP }} {{ PodIPsWith "n" true "" "a" "b" }}`, `true 10.0.0.1 [10.0.0.1]`},
		"without an Env there is no node":           {`{{ with NodeName }}x{{ end }}{{ with NodePort }}x{{ end }}`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			o := render.Options{Version: "v1.2.3", StartTime: now}
			if strings.HasPrefix(name, "the user's") {
				o.Funcs = map[string]any{"upper": func(string) string { return "mine" }, "PodIP": func() string { return "1.1.1.1" }}
			}
			obj := pod()
			got, err := compile(t, c.text, o).Text(render.Input{Object: obj, Now: now})
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			require.Equal(t, pod(), obj, "the object is never modified")
		})
	}
}

func TestNumbers(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"they compare":                             {`{{ eq .spec.replicas 3 }} {{ lt .spec.share 3.0 }}`, `true true`},
		"they print":                               {`{{ printf "%d %.2f" .spec.replicas .spec.share }}`, `3 2.50`},
		"zero is false":                            {`{{ if 0 }}x{{ else }}y{{ end }}`, `y`},
		"whole ones are arguments of type int":     {`{{ until .spec.replicas }} {{ seq .spec.replicas }} {{ repeat .spec.replicas "x" }}`, `[0 1 2] 1 2 3 xxx`},
		"a float without a fraction is whole":      {`{{ until 2.0 }}`, `[0 1]`},
		"a loop counts to them":                    {`{{ range .spec.replicas }}.{{ end }}`, `...`},
		"YAML and arithmetic keep them as numbers": {`{{ YAML .spec.share }}{{ add .spec.replicas 1 }}`, "2.5\n4"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := compile(t, c.text, render.Options{}).Text(render.Input{Object: pod()})
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestCompileFaults(t *testing.T) {
	const unknown = `function "env" not defined`
	for name, c := range map[string]struct {
		text    string
		offset  int
		message string
	}{
		"an unknown function is found where it is":    {"\n a: {{ 1 }}\n b: {{ env \"HOME\" }}", 20, unknown},
		"in a condition too":                          {`{{ if and true (env "A") }}{{ end }}`, 16, unknown},
		"a parse error is found by its line":          {"\n a: 1\n b: {{ if }}x{{ end }}", 8, "missing value for if"},
		"a template without an end is found":          {"{{ if .a }}", 0, "unexpected EOF"},
		"getHostByName is left out":                   {`{{ getHostByName "a" }}`, 3, `function "getHostByName" not defined`},
		"so is a function of our own":                 {`{{ weigh_ }}`, 3, `function "weigh_" not defined`},
		"what Helm has is told":                       {`{{ include "a" . }}`, 3, `function "include" not defined: it is one of Helm; render the chart first, with helm template`},
		"and what makes keys":                         {`{{ genPrivateKey "rsa" }}`, 3, `function "genPrivateKey" not defined`},
		"a template is not larger than what is usual": {strings.Repeat("x", 2<<20), -1, "template of 2097152 bytes, more than 1048576"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := render.Compile(c.text, render.Options{})
			var fault *render.Error
			require.ErrorAs(t, err, &fault)
			require.Equal(t, c.offset, fault.Offset)
			require.EqualError(t, fault.Err, c.message)
			if c.offset >= 0 {
				before := c.text[:c.offset]
				require.Equal(t, 1+strings.Count(before, "\n"), fault.Line)
				require.Equal(t, c.offset-strings.LastIndex(before, "\n"), fault.Column)
			}
		})
	}
}

func TestCompileReportsAllUnknownFunctions(t *testing.T) {
	_, err := render.Compile(`{{ env }}{{ expandenv }}`, render.Options{})
	require.EqualError(t, err, "1:4: function \"env\" not defined\n1:13: function \"expandenv\" not defined")
}

func TestCompileRefusesFunctionsThatCannotBeCalled(t *testing.T) {
	for name, fn := range map[string]any{"no-name": func() int { return 1 }, "value": 3, "none": func() {}, "range_": func() int { return 1 }} {
		_, err := render.Compile(``, render.Options{Funcs: map[string]any{name: fn}})
		require.ErrorContains(t, err, "functions: ")
	}
}

func TestRuntimeFaults(t *testing.T) {
	for name, c := range map[string]struct {
		text, message string
		offset        int
		strict        bool
	}{
		"a field of a string":            {"\n a: 1\n b: {{ .metadata.name.x }}", "3:17: <.metadata.name.x>: can't evaluate field x in type interface {}", 23, false},
		"a panic in a function":          {`{{ first 3 }}`, "1:4: <first 3>: error calling first: Cannot find first on type int", 3, false},
		"a number that is not whole":     {`{{ until .spec.share }}`, "1:4: <until .spec.share>: error calling until: wrong type for value; expected int; got float64", 3, false},
		"a loop over a bool":             {`{{ range true }}x{{ end }}`, "1:10: range can't iterate over true", 9, false},
		"an order of map and text":       {`{{ lt .spec "a" }}`, "1:4: <lt (.spec) \"a\">: error calling lt: invalid type for comparison", 3, false},
		"fail":                           {`{{ fail "no" }}`, "1:4: <fail \"no\">: error calling fail: no", 3, false},
		"a missing key if that is asked": {`{{ .nope }}`, "1:4: <.nope>: map has no entry for key \"nope\"", 3, true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := compile(t, c.text, render.Options{MissingKeyError: c.strict}).Text(render.Input{Object: pod()})
			var fault *render.Error
			require.ErrorAs(t, err, &fault)
			require.EqualError(t, err, c.message)
			require.Equal(t, c.offset, fault.Offset)
		})
	}
}

func TestValue(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want any
		ok   bool
	}{
		"nothing is no value":            {`{{ if false }}a: 1{{ end }}`, nil, false},
		"comments are no value":          {"# one\n\n  # two\n---\n", nil, false},
		"null is a value":                {`null`, nil, true},
		"integers are int64":             {`[1, 012, 0x10, 1.0, 1_000, -9223372036854775808]`, []any{int64(1), int64(10), int64(16), int64(1), int64(1000), int64(-9223372036854775808)}, true},
		"other numbers are float64":      {`[1.5, 9223372036854775808, 1e30]`, []any{1.5, 9223372036854775808.0, 1e30}, true},
		"YAML 1.1 has many words":        {`[yes, off, y, ~, "no"]`, []any{true, false, true, nil, "no"}, true},
		"times are strings":              {`a: 2006-01-02T15:04:05Z`, map[string]any{"a": "2006-01-02T15:04:05Z"}, true},
		"keys are strings":               {"1: a\ntrue: b\n1.5: c", map[string]any{"1": "a", "true": "b", "1.5": "c"}, true},
		"only the first document counts": {"a: 1\n---\nb: 2", map[string]any{"a": int64(1)}, true},
		"the last key of a name wins":    {"a: 1\na: 2", map[string]any{"a": int64(2)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok, err := compile(t, c.text, render.Options{}).Value(render.Input{})
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			require.Equal(t, c.ok, ok)
		})
	}
}

func TestValueFaults(t *testing.T) {
	for name, c := range map[string]struct{ text, message string }{
		"the rendered line is shown":         {"{{ range 3 }}\n{{ end }}a: 1\nb: c: d", "yaml: rendered line 5, \"b: c: d\": mapping values are not allowed in this context"},
		"on one line there is no other":      {"a: : b", "yaml: rendered line 1, \"a: : b\": mapping values are not allowed in this context"},
		"two keys with one spelling":         {"1: a\n\"1\": b", "yaml: two keys are \"1\""},
		"a null key":                         {"~: a", "yaml: unsupported key of type <nil>"},
		"a number that JSON has no word for": {"a: .inf", "yaml: unsupported number +Inf"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := compile(t, c.text, render.Options{}).Value(render.Input{})
			var fault *render.Error
			require.ErrorAs(t, err, &fault)
			require.EqualError(t, err, c.message)
		})
	}
}

func TestSeed(t *testing.T) {
	tmpl := compile(t, `{{ uuidv4 }} {{ randAlphaNum 8 }} {{ randInt 0 1000 }} {{ shuffle "abcdef" }} {{ randBytes 4 }}`, render.Options{})
	render := func(seed uint64) string {
		text, err := tmpl.Text(render.Input{Seed: seed})
		require.NoError(t, err)
		return text
	}
	require.Equal(t, render(1), render(1))
	require.NotEqual(t, render(1), render(2))
	require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12} `, render(1))
}

func TestConcurrentRenderings(t *testing.T) {
	tmpl := compile(t, `{{ .n }} {{ range .n }}{{ Quote . }}{{ end }}`, render.Options{})
	for i := range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for range 100 {
				text, err := tmpl.Text(render.Input{Object: map[string]any{"n": int64(i)}})
				require.NoError(t, err)
				require.Len(t, text, 2+3*i)
			}
		})
	}
}

// FuzzCountingChangesNothing compares with text/template alone, which has no counters.
func FuzzCountingChangesNothing(f *testing.F) {
	for _, text := range []string{`{{ range $k, $v := .spec }}{{ $k }}{{ if eq $k "share" }}{{ break }}{{ end }}{{ end }}`,
		`{{ with index .spec.containers 0 }}{{ .name | eq "app" }}{{ end }}{{ range .nope }}{{ else }}{{ len . }}{{ end }}`,
		`{{ define "a" }}{{ range . }}{{ template "a" .x }}{{ end }}{{ end }}{{ template "a" .metadata }}`,
		`{{ $x := 1 }}{{ range 3 }}{{ $x = . }}{{ end }}{{ $x }}{{ (index .metadata "name") | printf "%q" }}{{ lt 1 .spec.replicas }}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tmpl, err := render.Compile(text, render.Options{Steps: 100_000})
		plain, plainErr := template.New("_").Parse(strings.TrimSpace(text))
		if plainErr != nil || strings.Contains(text, "slice") {
			return
		}
		require.NoError(t, err)
		got, err := tmpl.Text(render.Input{Object: pod()})
		if errors.Is(err, render.ErrLimit) {
			return
		}
		var want strings.Builder
		plainErr = plain.Execute(&want, pod())
		require.Equal(t, plainErr == nil, err == nil, "ours: %v\ntheirs: %v", err, plainErr)
		if err == nil {
			require.Equal(t, want.String(), got)
		}
	})
}

func FuzzRender(f *testing.F) {
	for _, text := range []string{`{{ .spec }}`, `{{ range .spec.containers }}- {{ YAML . 1 }}{{ end }}`, `{{ set .metadata "a" .spec }}`,
		`a: {{ keys .metadata | join "," | quote }}`, `{{ $x := list 1 }}{{ range until 9 }}{{ $x = append $x $x }}{{ end }}{{ $x }}`,
		`{{ regexReplaceAll "a*" .metadata.name "${0}b" }}`, `{{ printf "%*d" 9 .spec.replicas }}{{ shuffle "abc" }}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tmpl, err := render.Compile(text, render.Options{Steps: 10_000, Output: 10_000})
		if err != nil {
			var fault *render.Error
			require.ErrorAs(t, err, &fault)
			return
		}
		obj := pod()
		in := render.Input{Object: obj, Now: now, Seed: 7}
		once, err1 := tmpl.Text(in)
		again, err2 := tmpl.Text(in)
		require.Equal(t, once, again)
		require.Equal(t, err1 == nil, err2 == nil)
		require.LessOrEqual(t, len(once), 10_000)
		value, _, err := tmpl.Value(in)
		if err == nil {
			_, err = json.Marshal(value)
			require.NoError(t, err)
		}
		require.Equal(t, pod(), obj)
	})
}
