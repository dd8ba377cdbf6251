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
		{golden: "standard.txt", args: "testdata/web.yaml", code: 1},
		{golden: "extended.txt", args: "-profile extended testdata/web.yaml", code: 1},
		{golden: "explain.txt", args: "-profile extended -explain testdata/web.yaml", code: 1},
		{golden: "json.txt", args: "-o json -profile extended testdata/web.yaml", code: 1},
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
	const ready, failing = "kind: Pod\nmetadata: {name: p}\nstatus: {phase: Succeeded}\n", "kind: Pod\nmetadata: {name: p}\nstatus: {phase: Pending}\n"
	for _, c := range []struct {
		name, args, stdin string
		code              int
		stderr            string
	}{
		{name: "standard input", stdin: ready},
		{name: "standard input by name", args: "-", stdin: ready},
		{name: "JSON", stdin: `{"kind": "Pod", "metadata": {"name": "p"}, "status": {"phase": "Succeeded"}}`},
		{name: "one that is not ready among others", stdin: ready + "---\n" + failing, code: 1},
		{name: "nothing", code: 2, stderr: "there are no objects"},
		{name: "an empty list", stdin: "kind: List\nitems: []\n", code: 2, stderr: "there are no objects"},
		{name: "a file that is not there", args: "missing.yaml", code: 2, stderr: "missing.yaml: no such file or directory"},
		{name: "broken YAML", stdin: ready + "---\n{", code: 2, stderr: "-: document 2: "},
		{name: "no object", stdin: "- a\n", code: 2, stderr: "document 1: "},
		{name: "no kind", stdin: "a: b\n", code: 2, stderr: "document 1: it has no kind"},
		{name: "an item without a kind", stdin: "kind: List\nitems: [{}]\n", code: 2, stderr: "item 0 has no kind"},
		{name: "an item that is none", stdin: "kind: List\nitems: [1]\n", code: 2, stderr: "item 0 is no object"},
		{name: "items that are none", stdin: "kind: List\nitems: 1\n", code: 2, stderr: "its items are no list"},
		{name: "an unknown profile", args: "-profile best", code: 2, stderr: "usage: readiness"},
		{name: "an unknown output", args: "-o yaml", code: 2, stderr: "usage: readiness"},
		{name: "an unknown flag", args: "-x", code: 2, stderr: "usage: readiness"},
		{name: "help", args: "-h", stderr: "usage: readiness"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, c.code, run(strings.Fields(c.args), strings.NewReader(c.stdin), &stdout, &stderr), stderr.String())
			require.Contains(t, stderr.String(), c.stderr)
		})
	}
}

func TestTextOfTheClusterStaysOnItsLine(t *testing.T) {
	var stdout, stderr bytes.Buffer
	pod := `{"kind": "Widget", "metadata": {"name": "p"}, "status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Bad", "message": "one\ntwo\tthree\u001b[31m"}]}}`
	require.Equal(t, 1, run(nil, strings.NewReader(pod), &stdout, &stderr))
	require.Equal(t, "KIND     NAME   STATUS       REASON   MESSAGE\nWidget   p      InProgress   Bad      one two three [31m\n", stdout.String())
}
