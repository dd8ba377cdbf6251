package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWorkloadsDoWhatTheySay(t *testing.T) {
	for _, w := range workloads {
		t.Run(w.name, func(t *testing.T) { require.NoError(t, runWorkload(t.Context(), w.name, 3)) })
	}
	require.ErrorContains(t, runWorkload(t.Context(), "nope", 1), `no workload is called "nope"`)
}

func TestAllWorkloadsAreRecorded(t *testing.T) {
	r, err := readRecord("recorded.json")
	require.NoError(t, err)
	require.Len(t, r.Instructions, len(workloads))
	for _, w := range workloads {
		require.NotZero(t, r.Instructions[w.name], w.name)
	}
}

func counted(counts map[string]uint64) record {
	r := newRecord("go1", "amd64")
	r.Instructions = counts
	return r
}

func TestARegressionIsMoreThanTheNoise(t *testing.T) {
	before := counted(map[string]uint64{"a": 1000, "b": 1000, "c": 1000})
	now := counted(map[string]uint64{"a": 1050, "b": 1051, "c": 10, "new": 7})
	var out bytes.Buffer
	require.Equal(t, []string{"b"}, report(&out, before, now))
	require.Equal(t, `  workload  recorded   now  ratio
         a      1000  1050  1.050
         b      1000  1051  1.051
         c      1000    10  0.010
       new         -     7      -
`, out.String())
}

func TestOtherMachinesDoNotFail(t *testing.T) {
	before, now := counted(map[string]uint64{"a": 1000}), counted(map[string]uint64{"a": 9000})
	now.Go = "go2"
	var out bytes.Buffer
	require.Empty(t, report(&out, before, now))
	require.Contains(t, out.String(), `recorded with "go1" on "amd64", counted with "go2" on "amd64"`)
	require.Equal(t, now.Instructions, counted(map[string]uint64{"old": 1}).merged(now).Instructions, "of another version nothing is kept")
}

func TestRecordsSurviveTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "recorded.json")
	_, err := readRecord(file)
	require.Error(t, err)
	r := counted(map[string]uint64{"a": 1}).merged(counted(map[string]uint64{"b": 2}))
	require.NoError(t, r.write(file))
	got, err := readRecord(file)
	require.NoError(t, err)
	require.Equal(t, counted(map[string]uint64{"a": 1, "b": 2}), got)
}

func TestWhatCallgrindPrintsIsRead(t *testing.T) {
	n, err := parseCount("==14448== Events    : Ir\n==14448== Collected : 215112069\n==14448== \n")
	require.NoError(t, err)
	require.EqualValues(t, 215112069, n)
	_, err = parseCount("==14448== \n")
	require.ErrorContains(t, err, "counted nothing")
}

func TestExitCodesTellWhatHappened(t *testing.T) {
	cases := map[string]struct {
		args []string
		code int
		says string
	}{
		"help":                 {[]string{"-help"}, 0, "-update"},
		"an unknown flag":      {[]string{"-nope"}, 2, "not defined"},
		"nothing recorded":     {[]string{"-file", "nope.json"}, 2, "nope.json"},
		"an unknown workload":  {[]string{"-play", "nope"}, 2, `no workload is called "nope"`},
		"playing says nothing": {[]string{"-play", "kstatus"}, 0, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, c.code, run(t.Context(), c.args, &stdout, &stderr))
			require.Contains(t, stderr.String(), c.says)
			require.Empty(t, stdout.String())
		})
	}
}

func TestWithoutValgrindItSaysSo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var stdout, stderr bytes.Buffer
	require.Equal(t, 2, run(t.Context(), []string{"-file", "recorded.json"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "valgrind is needed to count instructions and is not here")
}
