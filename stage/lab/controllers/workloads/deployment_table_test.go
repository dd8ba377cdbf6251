package workloads_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

const newImage = `{spec: {template: {spec: {containers: [{name: c, image: "i:%d"}]}}}}`

// roll gives the Deployment web another image.
func roll(c *clustertest.Cluster, image int) {
	c.Patch("Deployment", "web", fmt.Sprintf(newImage, image))
}

// sizes returns the replicas of the ReplicaSets by image.
func sizes(c *clustertest.Cluster) map[string]int64 {
	found := map[string]int64{}
	for _, rs := range c.List("ReplicaSet", "") {
		n, _, _ := unstructured.NestedInt64(rs.Object, "spec", "replicas")
		found[clustertest.Image(rs.Object, "spec", "template", "spec", "containers")] = n
	}
	return found
}

func TestDeployments(t *testing.T) {
	for name, test := range map[string]func(*testing.T, *clustertest.Cluster){
		"a paused one only scales": func(t *testing.T, c *clustertest.Cluster) {
			c.Patch("Deployment", "web", `{spec: {paused: true, replicas: 5}}`)
			roll(c, 2)
			c.Advance(5 * time.Minute)
			require.Equal(t, map[string]int64{"i:1": 5}, sizes(c))
			require.Equal(t, "Unknown DeploymentPaused", c.Reason("Deployment", "web", "Progressing"))
			c.Patch("Deployment", "web", `{spec: {paused: false}}`)
			c.Advance(0)
			require.Contains(t, c.Reason("Deployment", "web", "Progressing"), "True")
			c.Advance(5 * time.Minute)
			require.Equal(t, map[string]int64{"i:1": 0, "i:2": 5}, sizes(c))
		},
		"recreating waits until the old Pods are gone": func(t *testing.T, c *clustertest.Cluster) {
			c.Patch("Deployment", "web", `{spec: {strategy: {type: Recreate}}}`)
			roll(c, 2)
			for range 200 {
				c.Advance(time.Second)
				seen := map[string]bool{}
				for _, image := range c.Images("") {
					seen[image] = true
				}
				require.LessOrEqual(t, len(seen), 1)
			}
			require.Equal(t, map[string]int64{"i:1": 0, "i:2": 3}, sizes(c))
		},
		"the deadline of a rollout begins with it": func(t *testing.T, c *clustertest.Cluster) {
			c.Patch("Deployment", "web", `{spec: {strategy: {type: Recreate}, progressDeadlineSeconds: 60}}`)
			c.Advance(5 * time.Minute)
			roll(c, 2)
			c.Advance(0)
			require.Equal(t, "True NewReplicaSetAvailable", c.Reason("Deployment", "web", "Progressing"), "until the old Pods are gone")
		},
		"history is limited when a rollout is complete": func(t *testing.T, c *clustertest.Cluster) {
			c.Patch("Deployment", "web", `{spec: {template: {spec: {containers: [{name: c, image: "i:2"}], nodeSelector: {none: here}}}}}`)
			c.Advance(5 * time.Minute)
			c.Patch("Deployment", "web", `{spec: {strategy: {rollingUpdate: {maxUnavailable: 100%}}, revisionHistoryLimit: 0}}`)
			c.Advance(5 * time.Minute)
			require.Equal(t, map[string]int64{"i:1": 0, "i:2": 3}, sizes(c))
			c.Patch("Deployment", "web", `{spec: {template: {spec: {nodeSelector: null}}}}`)
			c.Advance(5 * time.Minute)
			require.Equal(t, map[string]int64{"i:2": 3}, sizes(c))
		},
		"going back makes the old revision the latest": func(t *testing.T, c *clustertest.Cluster) {
			roll(c, 2)
			c.Advance(5 * time.Minute)
			roll(c, 1)
			c.Advance(5 * time.Minute)
			require.Equal(t, map[string]int64{"i:1": 3, "i:2": 0}, sizes(c))
			require.Equal(t, "3", c.Get("Deployment", "web").GetAnnotations()["deployment.kubernetes.io/revision"])
			for _, rs := range c.List("ReplicaSet", "") {
				if rs.GetAnnotations()["deployment.kubernetes.io/revision"] == "3" {
					require.Equal(t, "1", rs.GetAnnotations()["deployment.kubernetes.io/revision-history"])
				}
			}
		},
		"history is limited": func(t *testing.T, c *clustertest.Cluster) {
			c.Patch("Deployment", "web", `{spec: {revisionHistoryLimit: 2}}`)
			for i := 2; i < 7; i++ {
				roll(c, i)
				c.Advance(5 * time.Minute)
			}
			require.Equal(t, map[string]int64{"i:4": 0, "i:5": 0, "i:6": 3}, sizes(c))
		},
		"several ReplicaSets grow in proportion": func(t *testing.T, c *clustertest.Cluster) {
			c.Patch("Deployment", "web", `{spec: {replicas: 10, strategy: {rollingUpdate: {maxSurge: 3, maxUnavailable: 2}}}}`)
			c.Advance(time.Minute)
			c.Patch("Deployment", "web", `{spec: {template: {spec: {nodeSelector: {nowhere: x}, containers: [{name: c, image: "i:2"}]}}}}`)
			c.Advance(time.Minute)
			require.Equal(t, map[string]int64{"i:1": 8, "i:2": 5}, sizes(c))
			c.Patch("Deployment", "web", `{spec: {replicas: 15}}`)
			c.Advance(0)
			require.Equal(t, map[string]int64{"i:1": 11, "i:2": 7}, sizes(c), "the example of the Kubernetes documentation")
		},
		"a rollout that does not progress times out": func(t *testing.T, c *clustertest.Cluster) {
			c.Patch("Deployment", "web", `{spec: {progressDeadlineSeconds: 60, template: {spec: {nodeSelector: {nowhere: x}}}}}`)
			c.Advance(30 * time.Second)
			c.Patch("Deployment", "web", `{metadata: {annotations: {touched: soon}}}`)
			c.Advance(29 * time.Second)
			require.Contains(t, c.Reason("Deployment", "web", "Progressing"), "True")
			c.Advance(5 * time.Second)
			require.Equal(t, "False ProgressDeadlineExceeded", c.Reason("Deployment", "web", "Progressing"))
			require.Equal(t, "True MinimumReplicasAvailable", c.Reason("Deployment", "web", "Available"), "the old Pods are still there")
			c.Patch("Deployment", "web", `{spec: {template: {spec: {nodeSelector: null}}}}`)
			c.Advance(5 * time.Minute)
		},
		"replicas count as available after a while": func(t *testing.T, c *clustertest.Cluster) {
			c.Patch("Deployment", "web", `{spec: {minReadySeconds: 120}}`)
			roll(c, 2)
			c.Advance(2 * time.Minute)
			require.Equal(t, int64(3), sizes(c)["i:1"])
			c.Advance(20 * time.Minute)
		},
		"a name that is taken is avoided": func(t *testing.T, c *clustertest.Cluster) {
			name := c.List("ReplicaSet", "")[0].GetName()
			c.Delete("Deployment", "web")
			c.Load(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: ` + name + `},
  spec: {replicas: 0, selector: {matchLabels: {app: other}}, template: {metadata: {labels: {app: other}}}}}`)
			c.Load(clustertest.Manifest("deployment"))
			c.Advance(5 * time.Minute)
			require.Len(t, c.List("ReplicaSet", ""), 2)
			require.Equal(t, int64(1), c.Field("Deployment", "web", "status", "collisionCount"))
		},
		"none is none": func(t *testing.T, c *clustertest.Cluster) {
			c.Patch("Deployment", "web", `{spec: {replicas: 0}}`)
			c.Advance(5 * time.Minute)
			require.Empty(t, c.List("Pod", ""))
		},
		"lost Pods are replaced, lone ones adopted, strangers released": func(t *testing.T, c *clustertest.Cluster) {
			all := c.List("Pod", "")
			c.Delete("Pod", all[0].GetName())
			c.Patch("Pod", all[1].GetName(), `{metadata: {labels: {pod-template-hash: null}}}`)
			c.Advance(5 * time.Minute)
			require.Len(t, c.List("Pod", "pod-template-hash"), 3)
			require.Empty(t, c.Get("Pod", all[1].GetName()).GetOwnerReferences())
			c.Patch("Pod", all[1].GetName(), `{metadata: {labels: {pod-template-hash: `+all[0].GetLabels()["pod-template-hash"]+`}}}`)
			c.Advance(5 * time.Minute)
			require.Len(t, c.List("Pod", ""), 3, "one too many after the adoption")
		},
		"Pods go with it": func(t *testing.T, c *clustertest.Cluster) {
			c.Delete("Deployment", "web")
			c.Advance(5 * time.Minute)
			require.Empty(t, c.List("Pod", ""))
			require.Empty(t, c.List("ReplicaSet", ""))
			c.Load(clustertest.Manifest("deployment"))
			c.Advance(5 * time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := clustertest.New(t, clustertest.Options{Nodes: 3, Pods: presets.PodGeneral})
			c.Load(clustertest.Manifest("deployment"))
			c.Advance(time.Minute)
			c.RequireCurrent("Deployment", "web")
			test(t, c)
			c.Advance(30 * time.Minute)
			if !strings.HasPrefix(name, "several") {
				c.RequireCurrent("Deployment", "web")
			}
			require.Empty(t, c.Errors)
		})
	}
}
