package harnesses_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// TestVPARecommender runs the unchanged recommender of VerticalPodAutoscalers, which reads usage from
// metrics.k8s.io and recommends it with its margin of 15 %.
func TestVPARecommender(t *testing.T) {
	source, program := build(t, "k8s.io/autoscaler/vertical-pod-autoscaler@v1.8.1", "./pkg/recommender")
	lab := labtest.New(t, labtest.Options{Start: time.Now(), Containers: containers.Options{Usage: func(containers.Container, time.Time) (containers.Usage, error) {
		return containers.Usage{CPU: resource.MustParse("300m"), Memory: resource.MustParse("600Mi")}, nil
	}}})
	definitions, err := os.ReadFile(filepath.Join(source, "deploy/vpa-v1-crd-gen.yaml"))
	require.NoError(t, err)
	lab.Apply(string(definitions))
	lab.Apply(`
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {
  metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 100m, memory: 100Mi}}}]}}}}
---
{apiVersion: autoscaling.k8s.io/v1, kind: VerticalPodAutoscaler, metadata: {name: web}, spec: {
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, updatePolicy: {updateMode: "Off"}}}
`)
	lab.Advance(5 * time.Second)
	log := run(t, lab, program, "--kubeconfig=KUBECONFIG", "--recommender-interval=1s", "--address=127.0.0.1:0")
	var target map[string]any
	await(t, lab, log, "a recommendation", func() bool {
		vpa := lab.Get("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", "web")
		all, _, _ := unstructured.NestedSlice(vpa.Object, "status", "recommendation", "containerRecommendations")
		if len(all) == 0 {
			return false
		}
		target, _, _ = unstructured.NestedMap(all[0].(map[string]any), "target")
		return true
	})
	t.Logf("usage 300m and 600Mi, target %v", target)
	between := func(name, least, most string) {
		q := resource.MustParse(target[name].(string))
		require.GreaterOrEqual(t, q.Cmp(resource.MustParse(least)), 0, "%s: %v", name, target)
		require.LessOrEqual(t, q.Cmp(resource.MustParse(most)), 0, "%s: %v", name, target)
	}
	between("cpu", "300m", "400m")
	between("memory", "600Mi", "800Mi")
}
