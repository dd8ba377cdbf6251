package controllers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/presets"
)

const newImage = `{spec: {template: {spec: {containers: [{name: c, image: "i:%d"}]}}}}`

func (l *lab) roll(image int) { l.patch("Deployment", "web", fmt.Sprintf(newImage, image)) }

// sizes are the replicas of the ReplicaSets by image.
func (l *lab) sizes() map[string]int64 {
	sizes := map[string]int64{}
	for _, rs := range l.list("ReplicaSet", "") {
		containers, _, _ := unstructured.NestedSlice(rs.Object, "spec", "template", "spec", "containers")
		n, _, _ := unstructured.NestedInt64(rs.Object, "spec", "replicas")
		sizes[containers[0].(map[string]any)["image"].(string)] = n
	}
	return sizes
}

func TestDeployments(t *testing.T) {
	for name, test := range map[string]func(*testing.T, *lab){
		"a paused one only scales": func(t *testing.T, l *lab) {
			l.patch("Deployment", "web", `{spec: {paused: true, replicas: 5}}`)
			l.roll(2)
			l.advance(5 * time.Minute)
			require.Equal(t, map[string]int64{"i:1": 5}, l.sizes())
			require.Equal(t, "Unknown DeploymentPaused", l.reason("Deployment", "web", "Progressing"))
			l.patch("Deployment", "web", `{spec: {paused: false}}`)
			l.advance(0)
			require.Contains(t, l.reason("Deployment", "web", "Progressing"), "True")
			l.advance(5 * time.Minute)
			require.Equal(t, map[string]int64{"i:1": 0, "i:2": 5}, l.sizes())
		},
		"recreating waits until the old Pods are gone": func(t *testing.T, l *lab) {
			l.patch("Deployment", "web", `{spec: {strategy: {type: Recreate}}}`)
			l.roll(2)
			for range 200 {
				l.advance(time.Second)
				seen := map[string]bool{}
				for _, image := range l.images("") {
					seen[image] = true
				}
				require.LessOrEqual(t, len(seen), 1)
			}
			require.Equal(t, map[string]int64{"i:1": 0, "i:2": 3}, l.sizes())
		},
		"going back makes the old revision the latest": func(t *testing.T, l *lab) {
			l.roll(2)
			l.advance(5 * time.Minute)
			l.roll(1)
			l.advance(5 * time.Minute)
			require.Equal(t, map[string]int64{"i:1": 3, "i:2": 0}, l.sizes())
			require.Equal(t, "3", l.get("Deployment", "web").GetAnnotations()["deployment.kubernetes.io/revision"])
			for _, rs := range l.list("ReplicaSet", "") {
				if rs.GetAnnotations()["deployment.kubernetes.io/revision"] == "3" {
					require.Equal(t, "1", rs.GetAnnotations()["deployment.kubernetes.io/revision-history"])
				}
			}
		},
		"history is limited": func(t *testing.T, l *lab) {
			l.patch("Deployment", "web", `{spec: {revisionHistoryLimit: 2}}`)
			for i := 2; i < 7; i++ {
				l.roll(i)
				l.advance(5 * time.Minute)
			}
			require.Equal(t, map[string]int64{"i:4": 0, "i:5": 0, "i:6": 3}, l.sizes())
		},
		"several ReplicaSets grow in proportion": func(t *testing.T, l *lab) {
			l.patch("Deployment", "web", `{spec: {replicas: 10, strategy: {rollingUpdate: {maxSurge: 3, maxUnavailable: 2}}}}`)
			l.advance(time.Minute)
			l.patch("Deployment", "web", `{spec: {template: {spec: {nodeSelector: {nowhere: x}, containers: [{name: c, image: "i:2"}]}}}}`)
			l.advance(time.Minute)
			require.Equal(t, map[string]int64{"i:1": 8, "i:2": 5}, l.sizes())
			l.patch("Deployment", "web", `{spec: {replicas: 15}}`)
			l.advance(0)
			require.Equal(t, map[string]int64{"i:1": 11, "i:2": 7}, l.sizes(), "the example of the Kubernetes documentation")
		},
		"a rollout that does not progress times out": func(t *testing.T, l *lab) {
			l.patch("Deployment", "web", `{spec: {progressDeadlineSeconds: 60, template: {spec: {nodeSelector: {nowhere: x}}}}}`)
			l.advance(30 * time.Second)
			l.patch("Deployment", "web", `{metadata: {annotations: {touched: soon}}}`)
			l.advance(29 * time.Second)
			require.Contains(t, l.reason("Deployment", "web", "Progressing"), "True")
			l.advance(5 * time.Second)
			require.Equal(t, "False ProgressDeadlineExceeded", l.reason("Deployment", "web", "Progressing"))
			require.Equal(t, "True MinimumReplicasAvailable", l.reason("Deployment", "web", "Available"), "the old Pods are still there")
			l.patch("Deployment", "web", `{spec: {template: {spec: {nodeSelector: null}}}}`)
			l.advance(5 * time.Minute)
		},
		"replicas count as available after a while": func(t *testing.T, l *lab) {
			l.patch("Deployment", "web", `{spec: {minReadySeconds: 120}}`)
			l.roll(2)
			l.advance(2 * time.Minute)
			require.Equal(t, int64(3), l.sizes()["i:1"])
			l.advance(20 * time.Minute)
		},
		"a name that is taken is avoided": func(t *testing.T, l *lab) {
			name := l.list("ReplicaSet", "")[0].GetName()
			l.delete("Deployment", "web")
			l.load(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: ` + name + `}, spec: {replicas: 0, selector: {matchLabels: {app: other}}, template: {metadata: {labels: {app: other}}}}}`)
			l.load(web)
			l.advance(5 * time.Minute)
			require.Len(t, l.list("ReplicaSet", ""), 2)
			require.Equal(t, int64(1), l.field("Deployment", "web", "status", "collisionCount"))
		},
		"none is none": func(t *testing.T, l *lab) {
			l.patch("Deployment", "web", `{spec: {replicas: 0}}`)
			l.advance(5 * time.Minute)
			require.Empty(t, l.list("Pod", ""))
		},
		"lost Pods are replaced, lone ones adopted, strangers released": func(t *testing.T, l *lab) {
			all := l.list("Pod", "")
			l.delete("Pod", all[0].GetName())
			l.patch("Pod", all[1].GetName(), `{metadata: {labels: {pod-template-hash: null}}}`)
			l.advance(5 * time.Minute)
			require.Len(t, l.list("Pod", "pod-template-hash"), 3)
			require.Empty(t, l.get("Pod", all[1].GetName()).GetOwnerReferences())
			l.patch("Pod", all[1].GetName(), `{metadata: {labels: {pod-template-hash: `+all[0].GetLabels()["pod-template-hash"]+`}}}`)
			l.advance(5 * time.Minute)
			require.Len(t, l.list("Pod", ""), 3, "one too many after the adoption")
		},
		"Pods go with it": func(t *testing.T, l *lab) {
			l.delete("Deployment", "web")
			l.advance(5 * time.Minute)
			require.Empty(t, l.list("Pod", ""))
			require.Empty(t, l.list("ReplicaSet", ""))
			l.load(web)
			l.advance(5 * time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, setting{nodes: 3, pods: presets.PodGeneral})
			l.load(web)
			l.advance(time.Minute)
			l.requireCurrent("Deployment", "web")
			test(t, l)
			l.advance(30 * time.Minute)
			if !strings.HasPrefix(name, "several") {
				l.requireCurrent("Deployment", "web")
			}
			require.Empty(t, l.fails)
		})
	}
}
