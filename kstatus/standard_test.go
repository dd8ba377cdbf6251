package kstatus_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/txtar"
	"github.com/stagecraft-go/stagecraft/kstatus"
)

func TestStandard(t *testing.T) { runCases(t, "standard", kstatus.Standard()) }

// TestNoVerdictAllocates measures all cases, not only the happy ones. To join the names of several
// containers takes memory.
func TestNoVerdictAllocates(t *testing.T) {
	for _, file := range caseFiles(t, "standard") {
		archive, err := txtar.ParseFile(file)
		require.NoError(t, err)
		for _, c := range archive.Files {
			obj := parse(t, string(c.Data))
			if c.Name != "all containers in a crash loop are named" {
				require.Zero(t, testing.AllocsPerRun(10, func() { kstatus.Standard().Compute(obj, now) }), c.Name)
			}
		}
	}
}

func TestWaitForJobs(t *testing.T) {
	cases := map[string]struct{ spec, status, want string }{
		"a running job is in progress":           {"{}", `{startTime: "2026-01-01T00:00:00Z", active: 1}`, "InProgress JobInProgress: Job in progress. success:0, active: 1, failed: 0 (status.conditions)"},
		"a job that did not start says of what":  {"{parallelism: 2}", "{}", "InProgress JobNotStarted: Job not started. active: 0/2 (status.startTime)"},
		"a suspended job is current at once":     {"{suspend: true}", "{}", "Current: Job is suspended (spec.suspend) suspended"},
		"a complete job is current":              {"{}", `{succeeded: 1, conditions: [{type: Complete, status: "True"}]}`, "Current: Job Completed. succeeded: 1/1"},
		"a job that cannot be read is unknown":   {"{}", "{conditions: invalid}", "Unknown Unreadable: Failed to compute job status: status.conditions has the wrong type (status.conditions)"},
		"a failed job has failed, not to return": {"{}", `{failed: 1, conditions: [{type: Failed, status: "True"}]}`, `Failed JobFailed: Job Failed. failed: 1/1 (status.conditions[type="Failed"]) terminal`},
	}
	rules := kstatus.Standard().WaitForJobs(true)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			obj := parse(t, "apiVersion: batch/v1\nkind: Job\nspec: "+c.spec+"\nstatus: "+c.status)
			require.Equal(t, c.want, verdict(rules.Compute(obj, now)))
		})
	}
}

func TestUpstreamKnowsItsKindsAlone(t *testing.T) {
	known := map[string][]string{
		"v1":                      {"ConfigMap", "PersistentVolumeClaim", "Pod", "Secret", "Service"},
		"apps/v1":                 {"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"},
		"extensions/v1beta1":      {"DaemonSet", "Deployment", "ReplicaSet"},
		"batch/v1":                {"CronJob", "Job"},
		"policy/v1":               {"PodDisruptionBudget"},
		"apiextensions.k8s.io/v1": {"CustomResourceDefinition"},
		"example.com/v1":          nil,
		"a/b/c":                   {"ConfigMap", "PersistentVolumeClaim", "Pod", "Secret", "Service"}, // is none, as is ""
	}
	kinds := map[string]bool{"Widget": true}
	for _, some := range known {
		for _, kind := range some {
			kinds[kind] = true
		}
	}
	for version, some := range known {
		for kind := range kinds {
			obj := parse(t, "apiVersion: "+version+"\nkind: "+kind)
			named := 0
			for _, rules := range []*kstatus.Rules{kstatus.Standard(), kstatus.Standard().Generic()} {
				for _, s := range rules.Explain(obj, now).Steps {
					if strings.HasPrefix(s.Rule, kind) {
						named++
					}
				}
			}
			require.Equal(t, slices.Contains(some, kind), named == 1, "%s %s", version, kind)
		}
	}
}
