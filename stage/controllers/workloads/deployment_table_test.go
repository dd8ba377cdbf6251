package workloads_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

const newImage = `{spec: {template: {spec: {containers: [{name: c, image: "i:%d"}]}}}}`

// roll gives the Deployment web another image.
func roll(l *clustertest.Cluster, image int) {
	l.Patch("Deployment", "web", fmt.Sprintf(newImage, image))
}

// sizes returns the replicas of the ReplicaSets by image.
func sizes(l *clustertest.Cluster) map[string]int64 {
	found := map[string]int64{}
	for _, rs := range l.List("ReplicaSet", "") {
		n, _, _ := unstructured.NestedInt64(rs.Object, "spec", "replicas")
		found[clustertest.Image(rs.Object, "spec", "template", "spec", "containers")] = n
	}
	return found
}

func TestDeployments(t *testing.T) {
	for name, test := range map[string]func(*testing.T, *clustertest.Cluster){
		"a paused one only scales": func(t *testing.T, l *clustertest.Cluster) {
			l.Patch("Deployment", "web", `{spec: {paused: true, replicas: 5}}`)
			roll(l, 2)
			l.Advance(5 * time.Minute)
			require.Equal(t, map[string]int64{"i:1": 5}, sizes(l))
			require.Equal(t, "Unknown DeploymentPaused", l.Reason("Deployment", "web", "Progressing"))
			l.Patch("Deployment", "web", `{spec: {paused: false}}`)
			l.Advance(0)
			require.Contains(t, l.Reason("Deployment", "web", "Progressing"), "True")
			l.Advance(5 * time.Minute)
			require.Equal(t, map[string]int64{"i:1": 0, "i:2": 5}, sizes(l))
		},
		"recreating waits until the old Pods are gone": func(t *testing.T, l *clustertest.Cluster) {
			l.Patch("Deployment", "web", `{spec: {strategy: {type: Recreate}}}`)
			roll(l, 2)
			for range 200 {
				l.Advance(time.Second)
				seen := map[string]bool{}
				for _, image := range l.Images("") {
					seen[image] = true
				}
				require.LessOrEqual(t, len(seen), 1)
			}
			require.Equal(t, map[string]int64{"i:1": 0, "i:2": 3}, sizes(l))
		},
		"going back makes the old revision the latest": func(t *testing.T, l *clustertest.Cluster) {
			roll(l, 2)
			l.Advance(5 * time.Minute)
			roll(l, 1)
			l.Advance(5 * time.Minute)
			require.Equal(t, map[string]int64{"i:1": 3, "i:2": 0}, sizes(l))
			require.Equal(t, "3", l.Get("Deployment", "web").GetAnnotations()["deployment.kubernetes.io/revision"])
			for _, rs := range l.List("ReplicaSet", "") {
				if rs.GetAnnotations()["deployment.kubernetes.io/revision"] == "3" {
					require.Equal(t, "1", rs.GetAnnotations()["deployment.kubernetes.io/revision-history"])
				}
			}
		},
		"history is limited": func(t *testing.T, l *clustertest.Cluster) {
			l.Patch("Deployment", "web", `{spec: {revisionHistoryLimit: 2}}`)
			for i := 2; i < 7; i++ {
				roll(l, i)
				l.Advance(5 * time.Minute)
			}
			require.Equal(t, map[string]int64{"i:4": 0, "i:5": 0, "i:6": 3}, sizes(l))
		},
		"several ReplicaSets grow in proportion": func(t *testing.T, l *clustertest.Cluster) {
			l.Patch("Deployment", "web", `{spec: {replicas: 10, strategy: {rollingUpdate: {maxSurge: 3, maxUnavailable: 2}}}}`)
			l.Advance(time.Minute)
			l.Patch("Deployment", "web", `{spec: {template: {spec: {nodeSelector: {nowhere: x}, containers: [{name: c, image: "i:2"}]}}}}`)
			l.Advance(time.Minute)
			require.Equal(t, map[string]int64{"i:1": 8, "i:2": 5}, sizes(l))
			l.Patch("Deployment", "web", `{spec: {replicas: 15}}`)
			l.Advance(0)
			require.Equal(t, map[string]int64{"i:1": 11, "i:2": 7}, sizes(l), "the example of the Kubernetes documentation")
		},
		"a rollout that does not progress times out": func(t *testing.T, l *clustertest.Cluster) {
			l.Patch("Deployment", "web", `{spec: {progressDeadlineSeconds: 60, template: {spec: {nodeSelector: {nowhere: x}}}}}`)
			l.Advance(30 * time.Second)
			l.Patch("Deployment", "web", `{metadata: {annotations: {touched: soon}}}`)
			l.Advance(29 * time.Second)
			require.Contains(t, l.Reason("Deployment", "web", "Progressing"), "True")
			l.Advance(5 * time.Second)
			require.Equal(t, "False ProgressDeadlineExceeded", l.Reason("Deployment", "web", "Progressing"))
			require.Equal(t, "True MinimumReplicasAvailable", l.Reason("Deployment", "web", "Available"), "the old Pods are still there")
			l.Patch("Deployment", "web", `{spec: {template: {spec: {nodeSelector: null}}}}`)
			l.Advance(5 * time.Minute)
		},
		"replicas count as available after a while": func(t *testing.T, l *clustertest.Cluster) {
			l.Patch("Deployment", "web", `{spec: {minReadySeconds: 120}}`)
			roll(l, 2)
			l.Advance(2 * time.Minute)
			require.Equal(t, int64(3), sizes(l)["i:1"])
			l.Advance(20 * time.Minute)
		},
		"a name that is taken is avoided": func(t *testing.T, l *clustertest.Cluster) {
			name := l.List("ReplicaSet", "")[0].GetName()
			l.Delete("Deployment", "web")
			l.Load(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: ` + name + `}, spec: {replicas: 0, selector: {matchLabels: {app: other}}, template: {metadata: {labels: {app: other}}}}}`)
			l.Load(clustertest.Manifest("deployment"))
			l.Advance(5 * time.Minute)
			require.Len(t, l.List("ReplicaSet", ""), 2)
			require.Equal(t, int64(1), l.Field("Deployment", "web", "status", "collisionCount"))
		},
		"none is none": func(t *testing.T, l *clustertest.Cluster) {
			l.Patch("Deployment", "web", `{spec: {replicas: 0}}`)
			l.Advance(5 * time.Minute)
			require.Empty(t, l.List("Pod", ""))
		},
		"lost Pods are replaced, lone ones adopted, strangers released": func(t *testing.T, l *clustertest.Cluster) {
			all := l.List("Pod", "")
			l.Delete("Pod", all[0].GetName())
			l.Patch("Pod", all[1].GetName(), `{metadata: {labels: {pod-template-hash: null}}}`)
			l.Advance(5 * time.Minute)
			require.Len(t, l.List("Pod", "pod-template-hash"), 3)
			require.Empty(t, l.Get("Pod", all[1].GetName()).GetOwnerReferences())
			l.Patch("Pod", all[1].GetName(), `{metadata: {labels: {pod-template-hash: `+all[0].GetLabels()["pod-template-hash"]+`}}}`)
			l.Advance(5 * time.Minute)
			require.Len(t, l.List("Pod", ""), 3, "one too many after the adoption")
		},
		"Pods go with it": func(t *testing.T, l *clustertest.Cluster) {
			l.Delete("Deployment", "web")
			l.Advance(5 * time.Minute)
			require.Empty(t, l.List("Pod", ""))
			require.Empty(t, l.List("ReplicaSet", ""))
			l.Load(clustertest.Manifest("deployment"))
			l.Advance(5 * time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := clustertest.New(t, clustertest.Options{Nodes: 3, Pods: presets.PodGeneral})
			l.Load(clustertest.Manifest("deployment"))
			l.Advance(time.Minute)
			l.RequireCurrent("Deployment", "web")
			test(t, l)
			l.Advance(30 * time.Minute)
			if !strings.HasPrefix(name, "several") {
				l.RequireCurrent("Deployment", "web")
			}
			require.Empty(t, l.Errors)
		})
	}
}
