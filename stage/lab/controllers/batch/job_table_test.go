package batch_test

import (
	"bytes"
	_ "embed"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
)

//go:embed testdata/failing-pods.yaml
var failingPods []byte

// failing returns Stages by which the Pods whose names match fail a second after they run; the
// others complete after ten.
func failing(match string) func() stage.Source {
	return func() stage.Source {
		return stage.Parse("failing-pods.yaml", bytes.ReplaceAll(failingPods, []byte("PATTERN"), []byte(match)))
	}
}

func TestJobs(t *testing.T) {
	none := failing("^nothing$")
	for name, tc := range map[string]struct {
		pods  func() stage.Source
		patch string
		test  func(*testing.T, *clustertest.Cluster)
	}{
		"the one Pod of a plain one": {none, `{spec: {completions: null, parallelism: null}}`, func(t *testing.T, c *clustertest.Cluster) {
			c.Advance(time.Minute)
			require.Equal(t, "True CompletionsReached", c.Reason("Job", "sums", "Complete"))
			require.Len(t, c.List("Pod", ""), 1)
			require.Equal(t, "2026-01-01T00:00:10Z", c.Field("Job", "sums", "status", "completionTime"))
		}},
		"a work queue ends with its workers": {none, `{spec: {completions: null, parallelism: 3}}`, func(t *testing.T, c *clustertest.Cluster) {
			c.Advance(time.Minute)
			require.Equal(t, int64(3), c.Field("Job", "sums", "status", "succeeded"))
			require.Equal(t, "True CompletionsReached", c.Reason("Job", "sums", "Complete"))
		}},
		"failures are tried again, later and later, up to the limit": {failing("sums"), `{spec: {completions: 1,
  parallelism: 1, backoffLimit: 2}}`, func(t *testing.T, c *clustertest.Cluster) {
			for _, at := range []struct {
				until time.Duration
				pods  int
			}{{time.Second, 1}, {9 * time.Second, 1}, {3 * time.Second, 2}, {17 * time.Second, 2}, {5 * time.Second, 3}} {
				c.Advance(at.until)
				require.Len(t, c.List("Pod", ""), at.pods)
			}
			c.Advance(time.Hour)
			require.Len(t, c.List("Pod", ""), 3)
			require.Equal(t, int64(3), c.Field("Job", "sums", "status", "failed"))
			require.Equal(t, "True BackoffLimitExceeded", c.Reason("Job", "sums", "FailureTarget"))
			require.Equal(t, "True BackoffLimitExceeded", c.Reason("Job", "sums", "Failed"))
			require.Equal(t, "Job has reached the specified backoff limit", c.Message("Job", "sums", "Failed"))
			require.Nil(t, c.Field("Job", "sums", "status", "completionTime"))
		}},
		"time runs out": {none, `{spec: {activeDeadlineSeconds: 5}}`, func(t *testing.T, c *clustertest.Cluster) {
			c.Advance(6 * time.Second)
			require.Equal(t, "True DeadlineExceeded", c.Reason("Job", "sums", "FailureTarget"))
			require.Equal(t, "<nil> <nil>", c.Reason("Job", "sums", "Failed"), "its Pods are still there")
			require.Equal(t, int64(2), c.Field("Job", "sums", "status", "terminating"))
			c.Advance(time.Minute)
			require.Equal(t, "True DeadlineExceeded", c.Reason("Job", "sums", "Failed"))
			c.RequireStatus("Job", "sums", `
conditions:
- lastProbeTime: "2026-01-01T00:00:05Z"
  lastTransitionTime: "2026-01-01T00:00:05Z"
  message: Job was active longer than specified deadline
  reason: DeadlineExceeded
  status: "True"
  type: FailureTarget
- lastProbeTime: "2026-01-01T00:00:07Z"
  lastTransitionTime: "2026-01-01T00:00:07Z"
  message: Job was active longer than specified deadline
  reason: DeadlineExceeded
  status: "True"
  type: Failed
failed: 2
ready: 0
startTime: "2026-01-01T00:00:00Z"
terminating: 0
uncountedTerminatedPods: {}`)
		}},
		"suspended and resumed": {none, `{spec: {suspend: true}}`, func(t *testing.T, c *clustertest.Cluster) {
			c.Advance(time.Minute)
			require.Equal(t, "True JobSuspended", c.Reason("Job", "sums", "Suspended"))
			require.Nil(t, c.Field("Job", "sums", "status", "startTime"))
			c.Patch("Job", "sums", `{spec: {suspend: false}}`)
			c.Advance(5 * time.Second)
			require.Equal(t, "False JobResumed", c.Reason("Job", "sums", "Suspended"))
			require.Equal(t, "2026-01-01T00:01:00Z", c.Field("Job", "sums", "status", "startTime"))
			c.Patch("Job", "sums", `{spec: {suspend: true}}`)
			c.Advance(5 * time.Second)
			require.Empty(t, c.List("Pod", ""))
			require.Nil(t, c.Field("Job", "sums", "status", "failed"), "suspending is no failure")
			c.Patch("Job", "sums", `{spec: {suspend: false}}`)
			c.Advance(5 * time.Minute)
			require.Equal(t, "True CompletionsReached", c.Reason("Job", "sums", "Complete"))
		}},
		"each index succeeds": {failing("^sums-3-[bcdf2-9]"), `{spec: {completionMode: Indexed}}`, func(t *testing.T, c *clustertest.Cluster) {
			c.Advance(15 * time.Second)
			require.Equal(t, "0,1", c.Field("Job", "sums", "status", "completedIndexes"))
			p := c.List("Pod", "batch.kubernetes.io/job-completion-index=1")[0]
			require.Equal(t, "1", p.GetAnnotations()["batch.kubernetes.io/job-completion-index"])
			require.Equal(t, "sums-1", c.Field("Pod", p.GetName(), "spec", "hostname"))
			containers, _, _ := unstructured.NestedSlice(p.Object, "spec", "containers")
			require.Contains(t, fmt.Sprint(containers), "JOB_COMPLETION_INDEX")
			c.Advance(24 * time.Hour)
			require.Equal(t, "0-4", c.Field("Job", "sums", "status", "completedIndexes"))
			require.Equal(t, "True CompletionsReached", c.Reason("Job", "sums", "Complete"))
		}},
		"an index fails for good": {failing("^sums-3-"), `{spec: {completionMode: Indexed, backoffLimitPerIndex: 1}}`, func(t *testing.T, c *clustertest.Cluster) {
			c.Advance(time.Hour)
			require.Equal(t, "0-2,4", c.Field("Job", "sums", "status", "completedIndexes"))
			require.Equal(t, "3", c.Field("Job", "sums", "status", "failedIndexes"))
			require.Equal(t, "True FailedIndexes", c.Reason("Job", "sums", "Failed"))
			require.Len(t, c.List("Pod", "batch.kubernetes.io/job-completion-index=3"), 2)
		}},
		"too many indexes fail": {failing("^sums-[23]-"), `{spec: {completionMode: Indexed, backoffLimitPerIndex: 0,
  maxFailedIndexes: 1}}`, func(t *testing.T, c *clustertest.Cluster) {
			c.Advance(time.Hour)
			require.Equal(t, "True MaxFailedIndexesExceeded", c.Reason("Job", "sums", "Failed"))
		}},
		"enough indexes succeed": {none, `{spec: {completionMode: Indexed,
  successPolicy: {rules: [{succeededIndexes: "0-1"}]}}}`, func(t *testing.T, c *clustertest.Cluster) {
			c.Advance(time.Minute)
			require.Equal(t, "True SuccessPolicy", c.Reason("Job", "sums", "Complete"))
			require.Equal(t, "Matched rules at index 0", c.Message("Job", "sums", "SuccessCriteriaMet"))
			require.Equal(t, int64(2), c.Field("Job", "sums", "status", "succeeded"))
		}},
		"one failure fails all": {failing("sums"), `{spec: {podFailurePolicy: {rules: [{action: FailJob,
  onExitCodes: {operator: In, values: [42]}}]}}}`, func(t *testing.T, c *clustertest.Cluster) {
			c.Advance(time.Minute)
			require.Equal(t, "True PodFailurePolicy", c.Reason("Job", "sums", "Failed"))
			require.Regexp(t, `^Container c for pod default/sums-\w+ failed with exit code 42 matching FailJob rule at index 0$`, c.Message("Job", "sums", "Failed"))
		}},
		"failures that do not count": {failing("sums"), `{spec: {backoffLimit: 0,
  podFailurePolicy: {rules: [{action: Ignore, onExitCodes: {operator: NotIn, values: [1]}}]}}}`, func(t *testing.T, c *clustertest.Cluster) {
			c.Advance(5 * time.Minute)
			require.Nil(t, c.Field("Job", "sums", "status", "failed"))
			require.Equal(t, "<nil> <nil>", c.Reason("Job", "sums", "Failed"))
			require.Greater(t, len(c.List("Pod", "")), 5)
		}},
		"its time to live": {none, `{spec: {ttlSecondsAfterFinished: 100}}`, func(t *testing.T, c *clustertest.Cluster) {
			c.Advance(2 * time.Minute)
			require.Equal(t, "True CompletionsReached", c.Reason("Job", "sums", "Complete"))
			c.Advance(time.Minute)
			require.Empty(t, c.List("Job", ""))
			require.Empty(t, c.List("Pod", ""))
		}},
		"a deleted Pod is one that failed": {none, `{spec: {}}`, func(t *testing.T, c *clustertest.Cluster) {
			c.Advance(time.Second)
			c.Delete("Pod", c.List("Pod", "")[0].GetName())
			c.Advance(5 * time.Minute)
			require.Equal(t, int64(1), c.Field("Job", "sums", "status", "failed"))
			require.Equal(t, int64(5), c.Field("Job", "sums", "status", "succeeded"))
		}},
		"fewer at once": {none, `{spec: {parallelism: 4}}`, func(t *testing.T, c *clustertest.Cluster) {
			c.Advance(time.Second)
			c.Patch("Job", "sums", `{spec: {parallelism: 1}}`)
			c.Advance(5 * time.Second)
			require.Equal(t, int64(1), c.Field("Job", "sums", "status", "active"))
			c.Advance(10 * time.Minute)
			require.Equal(t, int64(5), c.Field("Job", "sums", "status", "succeeded"))
			require.Nil(t, c.Field("Job", "sums", "status", "failed"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := clustertest.New(t, clustertest.Options{Nodes: 2, Pods: tc.pods})
			c.Load(clustertest.Manifest("job"))
			c.Patch("Job", "sums", tc.patch)
			tc.test(t, c)
			require.Empty(t, c.Errors)
			for _, p := range c.List("Pod", "") {
				if phase, _, _ := unstructured.NestedString(p.Object, "status", "phase"); phase == "Succeeded" || phase == "Failed" {
					require.Empty(t, p.GetFinalizers(), "counted")
				}
			}
		})
	}
}
