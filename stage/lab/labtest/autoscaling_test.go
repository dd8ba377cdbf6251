package labtest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/autoscaling"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// TestAnAutoscalerFollowsAFunction: WaitCurrent and Advance also work with a metrics function. Only
// Settle cannot end, because the result of the function can depend on the time.
func TestAnAutoscalerFollowsAFunction(t *testing.T) {
	cpu := resource.MustParse("80m")
	use := func(q autoscaling.Query) (values []autoscaling.Value, err error) {
		for _, pod := range q.Pods {
			values = append(values, autoscaling.Value{Pod: pod.GetName(), Quantity: cpu, Time: q.Now, Window: time.Minute})
		}
		return values, nil
	}
	lab := labtest.New(t, labtest.Options{Metrics: use})
	lab.Apply(`
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: ReplicaSet, name: web}}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}}, template: {
  metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]}}}}
`)
	lab.WaitCurrent()
	lab.Advance(time.Minute)
	require.Len(t, lab.List("v1", "Pod", "app=web"), 1)
	cpu = resource.MustParse("160m")
	lab.Advance(time.Minute)
	require.Len(t, lab.List("v1", "Pod", "app=web"), 2)
	lab.WaitCurrent()
}

// TestAnAutoscalerThatGoesOnSaysSo where Settle fails.
func TestAnAutoscalerThatGoesOnSaysSo(t *testing.T) {
	o := labtest.Options{Timeout: time.Minute, Metrics: func(autoscaling.Query) ([]autoscaling.Value, error) { return nil, nil }}
	text := failure(t, o, func(lab *labtest.Lab) {
		lab.Apply(`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web},
  spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`)
		lab.Settle()
	})
	require.Contains(t, text, "; HorizontalPodAutoscaler default/web asks Options.Metrics every 15s, so that the lab never settles: use Advance or WaitCurrent")
}
