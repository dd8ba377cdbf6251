package controllers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
)

func TestWhatAnAPIServerRefusesIsLeftAlone(t *testing.T) {
	for _, kind := range []string{"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"} {
		for selector, want := range map[string]string{
			"null":                        "spec.selector: empty selector is invalid",
			"{matchLabels: {app: other}}": "`selector` does not match template `labels`",
			"{matchExpressions: [{key: app, operator: NotIn, values: [web]}]}": "`selector` does not match template `labels`",
		} {
			c := clustertest.New(t, clustertest.Options{Nodes: 1})
			c.Load(fmt.Sprintf(`{apiVersion: apps/v1, kind: %s, metadata: {name: x},
  spec: {selector: %s, template: {metadata: {labels: {app: web}}, spec: {}}}}`, kind, selector))
			c.Settle()
			require.Empty(t, c.List("Pod", ""))
			require.Contains(t, strings.Join(c.Errors, "\n"), want)
		}
	}
}

// anything is an object of any kind with one more field.
const anything = `
apiVersion: %s
kind: %s
metadata: {name: x}
spec:
  replicas: 1
  completions: 1
  schedule: "* * * * *"
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}
  %s: %s
`

// TestNonsenseHarmsNobody has objects whose fields are of other types than they should be.
func TestNonsenseHarmsNobody(t *testing.T) {
	values := []string{"null", "3", "-7", "text", "[]", "{}", "[1, {a: b}]", "{a: [b]}", "true"}
	fields := map[string]string{
		"Deployment":            "replicas strategy paused progressDeadlineSeconds revisionHistoryLimit minReadySeconds template",
		"ReplicaSet":            "replicas minReadySeconds template",
		"StatefulSet":           "replicas updateStrategy ordinals volumeClaimTemplates serviceName minReadySeconds revisionHistoryLimit template",
		"DaemonSet":             "updateStrategy template minReadySeconds",
		"Job":                   "completions parallelism backoffLimit completionMode template activeDeadlineSeconds podFailurePolicy successPolicy suspend",
		"CronJob":               "schedule timeZone jobTemplate suspend concurrencyPolicy startingDeadlineSeconds successfulJobsHistoryLimit",
		"PersistentVolumeClaim": "accessModes resources storageClassName volumeName selector",
		"PersistentVolume":      "capacity claimRef accessModes",
		"Service":               "type selector ports clusterIP",
		"Pod":                   "containers initContainers nodeSelector affinity tolerations volumes nodeName priority overhead",
		"Node":                  "taints unschedulable",
	}
	for kind, names := range fields {
		for _, field := range strings.Fields(names) {
			values = append(values[1:], values[0]) // another one for each field
			for _, value := range effort.Some(values) {
				c := clustertest.New(t, clustertest.Options{Nodes: 1})
				apiVersion, _ := clustertest.Kind(kind).ToAPIVersionAndKind()
				c.Load(fmt.Sprintf(anything, apiVersion, kind, field, value))
				c.Advance(90e9)
			}
		}
	}
}
