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

var update = flag.Bool("update", false, "rewrite testdata")

func output(t *testing.T, code int, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	require.Equal(t, code, run(t.Context(), args, &stdout, &stderr), stderr.String())
	return stdout.String() + stderr.String()
}

func TestRolloutComesToProd(t *testing.T) {
	out := output(t, 0)
	require.Contains(t, out, "+12.994s   stage dev: satisfied\n")
	require.Contains(t, out, "cluster prod2: deployments.apps nginx/nginx arrives")
	require.Contains(t, out, "cluster dev1: deployments.apps nginx/nginx is gone")
	require.NotContains(t, out, "lint")
	require.Equal(t, out, output(t, 0), "the same again")
	require.NotEqual(t, out, output(t, 0, "-seed", "2"))
}

func TestPrintedConditionDoesNotFitTwoClusters(t *testing.T) {
	out := output(t, 0, "-clusters")
	require.Contains(t, out, "nginx-staged-bindingpolicy\n")
	require.Contains(t, out, "lint: stage dev: the condition is true only in passing")
	_, second, found := bytes.Cut([]byte(out), []byte("nginx-two-clusters\n"))
	require.True(t, found)
	require.NotContains(t, string(second), "lint")
	require.Contains(t, string(second), "Succeeded")
}

func TestExplainSaysWhatIsAwaited(t *testing.T) {
	require.Contains(t, output(t, 0, "-explain"), `waiting: stage "dev": deployments.apps nginx/nginx: saw deployments-aggregator: sum = 0; wants`)
}

func TestCharts(t *testing.T) {
	require.Contains(t, output(t, 0, "-mermaid"), "  title nginx-staged-bindingpolicy\n  dateFormat X\n  axisFormat %s\n  nginx-staged-bindingpolicy.stage.dev : 0, 12\n")
	page := output(t, 0, "-html", "-clusters")
	require.True(t, strings.HasPrefix(page, "<!DOCTYPE html>"))
	require.Equal(t, 2, strings.Count(page, "<section>"), "one page for all policies")
	require.Contains(t, output(t, 2, "-html", "-mermaid"), "not both")
}

// write writes a file that is for -policy.
func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "my.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func embedded(t *testing.T, names ...string) string {
	t.Helper()
	var texts []string
	for _, name := range names {
		text, err := builtin.ReadFile(name)
		require.NoError(t, err)
		texts = append(texts, string(text))
	}
	return strings.Join(texts, "\n---\n")
}

func TestFaultsOfTheCommand(t *testing.T) {
	for _, tc := range []struct {
		want string
		args []string
	}{
		{"Flags:", []string{"-what"}},
		{`what is "my.yaml"? A file goes to -policy`, []string{"my.yaml"}},
		{"want a -latency of at least 0s", []string{"-latency", "-1s"}},
		{"want something like after.dev=10m", []string{"-approve", "after.dev"}},
		{"-approve after.qa: want before. or after. and the name of a stage", []string{"-approve", "after.qa=1m"}},
		{"cannot parse", []string{"-start", "today"}},
		{"my.yaml: no StagedBindingPolicy", []string{"-policy", write(t, "")}},
		{"my.yaml: no StagedBindingPolicy", []string{"-policy", write(t, embedded(t, "workload.yaml"))}},
		{"want -clusters or ManagedClusters, not both", []string{"-clusters", "-policy", write(t, embedded(t, "policy.yaml")+`
---
{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: a}}`)}},
	} {
		require.Contains(t, output(t, 2, tc.args...), tc.want)
	}
	require.Contains(t, output(t, 0, "-help"), "rehearsal.script")
}

func TestFaultsOfAFile(t *testing.T) {
	require.Contains(t, output(t, 1, "-policy", "missing.yaml"), "missing.yaml")
	out := output(t, 1, "-policy", write(t, embedded(t, "policy-num.yaml")+"      condition: nums('sum') == 1\n"+`---
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: a, annotations: {rehearsal.latency: soon, rehearsal.speed: "3", rehearsal.silent: maybe, rehearsal.script: "[{at: 3s}]"}}
---
apiVersion: control.kubestellar.io/v1alpha1
kind: StatusCollector
metadata: {name: ready}
spec: {filters: "true"}
`))
	for _, want := range []string{
		`my.yaml:20:22: policy "nginx-two-clusters": spec.stages[1].condition: undeclared reference to 'nums'`,
		`my.yaml: ManagedCluster "a": metadata.annotations[rehearsal.latency]: time: invalid duration "soon"`,
		`my.yaml: ManagedCluster "a": metadata.annotations[rehearsal.script]: error unmarshaling JSON: while decoding JSON: json: unknown field "at"`,
		`my.yaml: ManagedCluster "a": metadata.annotations[rehearsal.silent]: strconv.ParseBool: parsing "maybe": invalid syntax`,
		`my.yaml: ManagedCluster "a": metadata.annotations[rehearsal.speed]: unknown`,
		`my.yaml:29:8: spec.filters: unknown field; did you mean "filter"?`,
	} {
		require.Contains(t, out, want)
	}
	out = output(t, 1, "-policy", write(t, embedded(t, "policy.yaml", "policy-num.yaml", "stages/job.yaml")+"  weight: -1\n"))
	require.Contains(t, out, `my.yaml:`)
	require.Contains(t, out, `stage "job-complete": spec.weight`)
	out = output(t, 1, "-policy", write(t, embedded(t, "policy.yaml", "policy-num.yaml")+"\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}"))
	for _, name := range []string{"nginx-staged-bindingpolicy", "nginx-two-clusters"} {
		require.Contains(t, out, `policy "`+name+`": Input.Policy.Spec.Downsync[0].StatusCollectors[0]: "deployments-aggregator" is not in Input.Collectors`)
	}
}

func TestPolicyOfAFile(t *testing.T) {
	require.Contains(t, output(t, 0, "-policy", write(t, embedded(t, "policy.yaml", "workload.yaml"))), "Succeeded")
	require.Contains(t, output(t, 0, "-policy", write(t, embedded(t, "policy.yaml"))), "nginx/nginx arrives", "the workload of nginx")
	two := output(t, 0, "-policy", write(t, embedded(t, "policy.yaml")), "-policy", write(t, embedded(t, "policy-num.yaml")))
	require.Contains(t, two, "\nnginx-two-clusters\n")
}

// TestStories plays the files of testdata: policies of users, with workload and clusters of their
// own.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			first, _, _ := strings.Cut(string(text), "\n")
			args := append(strings.Fields(strings.TrimPrefix(first, "# rollout")), "-policy", file)
			got, golden := output(t, 0, args...), strings.TrimSuffix(file, ".yaml")+".txt"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
		})
	}
}

// A new image comes to dev, then to prod, two clusters at a time. The cluster that does not become
// ready is set aside.
func TestUpdateOfTheImage(t *testing.T) {
	out := output(t, 0, "-update")
	_, after, found := strings.Cut(out, "deployments.apps nginx/nginx is changed on the hub")
	require.True(t, found)
	for _, line := range []string{
		`is wanted: beginning with stage "dev" again`, "cluster dev1: deployments.apps nginx/nginx changes",
		"stage dev: satisfied", "stage dev: succeeded", "cluster prod1: deployments.apps nginx/nginx changes",
		"cluster prod2: deployments.apps nginx/nginx changes", "cluster prod3: deployments.apps nginx/nginx changes",
		"cluster prod4: deployments.apps nginx/nginx changes", "Succeeded:",
	} {
		_, after, found = strings.Cut(after, line)
		require.True(t, found, "%s\n%s", line, out)
	}
	require.NotContains(t, out, "is gone")
}

// Over transports that can place an old revision, each cluster of prod gets its own back, and dev keeps the
// new one.
func TestRollbackOverPorts(t *testing.T) {
	for _, flag := range []string{"-ocm", "-argo"} {
		out := output(t, 0, flag)
		rest := out
		for _, line := range []string{
			"cluster dev1: from nothing to version 1", "cluster prod1: from nothing to version 1", "Succeeded: ", "+1m0s", "cluster dev1: from 1 to version 2",
			"cluster prod1: from 1 to version 2", "cluster prod2: from 1 to version 2", "RollingBack: ", "cluster prod1: from 2 to version 1", "cluster prod2: from 2 to version 1", "RolledBack: ",
		} {
			_, after, found := strings.Cut(rest, line)
			require.True(t, found, "%s: %s\n%s", flag, line, out)
			rest = after
		}
		require.NotContains(t, out, "dev1: from 2")
	}
}

// Two policies for the same clusters on one hub: the second one waits.
func TestPoliciesTogether(t *testing.T) {
	second := strings.Replace(embedded(t, "policy.yaml"), "name: nginx-staged-bindingpolicy", "name: copy", 1)
	out := output(t, 0, "-together", "-policy", write(t, embedded(t, "policy.yaml", "workload.yaml")), "-policy", write(t, second))
	require.Contains(t, out, "policy copy: ")
	require.NotContains(t, out, "\ncopy\n")
}

// A bad image is held in prod, and the old one comes back before dev has its turn. Nothing is removed.
func TestRollbackOfTheImage(t *testing.T) {
	out := output(t, 0, "-rollback")
	rest := out
	for _, line := range []string{
		"NewRevision: r2-", "cluster dev1: deployments.apps nginx/nginx changes", "cluster prod1: deployments.apps nginx/nginx changes",
		"RollbackNeeded: ", "+20m0s", "r1-", "cluster prod1: deployments.apps nginx/nginx changes", "cluster prod2: deployments.apps nginx/nginx changes", "stage dev: succeeded", "Succeeded:",
	} {
		_, after, found := strings.Cut(rest, line)
		require.True(t, found, "%s\n%s", line, out)
		rest = after
	}
	require.NotContains(t, out, "is gone")
	require.NotContains(t, out, "removed")
}
