package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestGolden(t *testing.T) {
	for _, c := range []struct {
		golden string
		args   string
		code   int
	}{
		{golden: "standard.txt", args: "-profile standard testdata/web.yaml", code: 1},
		{golden: "extended.txt", args: "testdata/web.yaml", code: 1},
		{golden: "explain.txt", args: "-explain testdata/web.yaml", code: 1},
		{golden: "json.txt", args: "-o json testdata/web.yaml", code: 1},
		{golden: "audit.txt", args: "-audit testdata/oven.yaml", code: 1},
		{golden: "ready.txt", args: "testdata/ready.json", code: 0},
	} {
		t.Run(c.golden, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, c.code, run(strings.Fields(c.args), nil, &stdout, &stderr), stderr.String())
			file := filepath.Join("testdata", c.golden)
			if *update {
				require.NoError(t, os.WriteFile(file, stdout.Bytes(), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), stdout.String())
			require.Empty(t, stderr.String())
		})
	}
}

func TestInput(t *testing.T) {
	const ready = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nstatus: {phase: Succeeded}\n"
	const failing = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nstatus: {phase: Pending}\n"
	const skipped = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {stagecraft-go.github.io/wait: disabled}}\nstatus: {phase: Pending}\n"
	for _, c := range []struct {
		name, args, stdin string
		code              int
		stderr            string
	}{
		{name: "standard input", stdin: ready},
		{name: "standard input by name", args: "-", stdin: ready},
		{name: "JSON", stdin: `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "status": {"phase": "Succeeded"}}`},
		{name: "one that is not ready among others", stdin: ready + "---\n" + failing, code: 1},
		{name: "nothing", code: 2, stderr: "there are no objects"},
		{name: "an empty list", stdin: "kind: List\nitems: []\n", code: 2, stderr: "there are no objects"},
		{name: "a file that is not there", args: "missing.yaml", code: 2, stderr: "missing.yaml: no such file or directory"},
		{name: "broken YAML", stdin: ready + "---\n{", code: 2, stderr: "-:6: not YAML: "},
		{name: "no object", stdin: "- a\n", code: 2, stderr: "-:1: it is no object"},
		{name: "no kind", stdin: "a: b\n", code: 2, stderr: "-:1: it has no kind"},
		{name: "no version", stdin: "a: b\nkind: Pod\n", code: 2, stderr: "-:1: it has no apiVersion"},
		{name: "too many versions", stdin: ready + "---\nkind: Pod\napiVersion: v1/v2/v3\n", code: 2,
			stderr: "-:7: apiVersion \"v1/v2/v3\" is neither a version, as v1, nor a group and a version, as apps/v1"},
		{name: "a group without a version", stdin: "apiVersion: apps/\nkind: Pod\n", code: 2, stderr: `-:1: apiVersion "apps/" is neither`},
		{name: "a version that is none, in a list", stdin: "kind: List\nitems:\n- kind: Pod\n  apiVersion: v1\n- kind: Pod\n  apiVersion: a/b/c\n", code: 2, stderr: "-:6: apiVersion"},
		{name: "two faults", stdin: "a: b\n---\nc: d\n", code: 2, stderr: "readiness: -:1: it has no kind\nreadiness: -:3: it has no kind\n"},
		{name: "a key twice", stdin: ready + "---\n" + ready + "status: {phase: Pending}\n", code: 2, stderr: `-:10: key "status" is there twice`},
		{name: "keys twice", stdin: "a: 1\nb: 1\na: 2\nb: 2\n", code: 2, stderr: "-:3: key \"a\" is there twice\nreadiness: -:4: key \"b\""},
		{name: "a key twice in JSON", stdin: "{\"kind\": \"Pod\"}\n{\"a\": [{\"b\": 1, \"c\": {}}, {\"b\": 2,\n\"b\": 3}]}", code: 2, stderr: `-:3: key "b" is there twice`},
		{name: "a key in several maps of JSON", stdin: `{"apiVersion": "v1", "kind": "Secret", "a": {"a": ["a", "a", {"a": "a"}]}, "b": {"a": "a"}}`},
		{name: "the answer of an API server", stdin: "{\n\"kind\": \"Status\",\n\"apiVersion\": \"v1\", \"status\": \"Failure\",\n\"message\": \"pods \\\"x\\\" not found\"}", code: 2,
			stderr: `-:4: no object, but an answer of the API server: pods "x" not found`},
		{name: "a kind called Status of another group", stdin: "apiVersion: x.com/v1\nkind: Status\n", code: 1},
		{name: "a kind that ends in List", code: 1,
			stdin: `{apiVersion: x.com/v1, kind: AllowList, metadata: {name: a}, status: {conditions: [{type: Ready, status: "False"}]}}`},
		{name: "a list of kinds that end in List", code: 1, stdin: `{apiVersion: x.com/v1, kind: AllowListList,
			items: [{metadata: {name: a}, status: {conditions: [{type: Ready, status: "False"}]}}]}`},
		{name: "a list of Pods without kinds", stdin: "apiVersion: v1\nkind: PodList\nitems: [{metadata: {name: a}, status: {phase: Pending}}]\n", code: 1},
		{name: "an item without a kind", stdin: "kind: List\nitems: [{}]\n", code: 2, stderr: "-:2: it has no kind"},
		{name: "an item that is none", stdin: "kind: List\nitems: [1]\n", code: 2, stderr: "-:2: it is no object"},
		{name: "items that are none", stdin: "kind: List\nitems: 1\n", code: 2, stderr: "its items are no list"},
		{name: "an annotation that says not to wait", args: "-honor-no-wait", stdin: skipped},
		{name: "an annotation that nobody asked for", stdin: skipped, code: 1},
		{name: "an unknown profile", args: "-profile best", code: 2, stderr: "readiness: -profile \"best\": must be extended or standard\n"},
		{name: "an unknown output", args: "-o yaml", code: 2, stderr: "readiness: -o \"yaml\": must be json or table\n"},
		{name: "an unknown flag", args: "-x", code: 2, stderr: "usage: readiness"},
		{name: "an audit without a definition", args: "-audit", stdin: ready, code: 2, stderr: "-audit: there is no CustomResourceDefinition"},
		{name: "help", args: "-h", stderr: "usage: readiness"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, c.code, run(strings.Fields(c.args), strings.NewReader(c.stdin), &stdout, &stderr), stderr.String())
			require.Contains(t, stderr.String(), c.stderr)
		})
	}
}

// TestFaultsHideNoVerdict: a document without a kind says nothing of the others.
func TestFaultsHideNoVerdict(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nstatus: {phase: Pending}\n"
	for _, input := range []string{
		pod + "---\nmetadata: {name: q}\n", "metadata: {name: q}\n---\n" + pod,
		"kind: List\nitems:\n- {metadata: {name: q}}\n- {apiVersion: v1, kind: Pod, metadata: {name: p}, status: {phase: Pending}}\n",
		pod + "---\n{\n",
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, 2, run([]string{"-profile", "standard"}, strings.NewReader(input), &stdout, &stderr))
		require.Equal(t, "KIND   NAME   STATUS       REASON       MESSAGE\nPod    p      InProgress   PodPending   Pod is in the Pending phase\n", stdout.String())
		require.Regexp(t, `^readiness: -:\d+: (it has no kind|not YAML: .*)\n$`, stderr.String())
	}
}

func TestTextOfTheClusterStaysOnItsLine(t *testing.T) {
	var stdout, stderr bytes.Buffer
	pod := `{"apiVersion": "x.com/v1", "kind": "Widget", "metadata": {"name": "p"}, "status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Bad", "message": "one\ntwo\tthree\u001b[31m"}]}}`
	require.Equal(t, 1, run(nil, strings.NewReader(pod), &stdout, &stderr))
	require.Equal(t, "KIND     NAME   STATUS       REASON   MESSAGE\nWidget   p      InProgress   Bad      one\\ntwo\\tthree\\x1b[31m\n", stdout.String())
}
