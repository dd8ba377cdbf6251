package labtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/race"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// Workloads that ask for 2,147,483,647 Pods neither end nor stop a lab: it serves other objects.
func TestALabServesOthersBesideWorkloadsWithoutEnd(t *testing.T) {
	if race.On {
		t.Skip("ten thousand Pods take long")
	}
	lab := labtest.New(t, labtest.Options{})
	lab.Apply(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec: {replicas: 2147483647, selector: {matchLabels: {app: db}}, template: {
  metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 10}}}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: endless}
spec: {replicas: 2147483647, selector: {matchLabels: {app: endless}}, template: {
  metadata: {labels: {app: endless}}, spec: {nodeSelector: {no: node}, containers: [{name: c, image: i}]}}}
`)
	lab.Advance(0)
	require.Len(t, lab.List("v1", "Pod", "app=db"), 10, "nine run, the tenth waits")
	require.Len(t, lab.List("v1", "Pod", "app=endless"), 10_000)

	lab.Apply(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}
`)
	lab.WaitCurrent(lab.Get("apps/v1", "Deployment", "web"))
}
