package controllers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/presets"
)

const standardClass = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: disk.example.com
volumeBindingMode: WaitForFirstConsumer
`

const bundle = standardClass + `
---
apiVersion: v1
kind: Namespace
metadata: {name: default}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  volumeClaimTemplates:
  - {metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: i, volumeMounts: [{name: data, mountPath: /data}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: db}
spec: {clusterIP: None, selector: {app: db}, ports: [{port: 5432}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{name: http, port: 80, targetPort: web}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: cache}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      volumes: [{name: cache, persistentVolumeClaim: {claimName: cache}}]
      containers: [{name: c, image: i, ports: [{name: web, containerPort: 8080}]}]
---
apiVersion: v1
kind: ReplicationController
metadata: {name: old}
spec:
  replicas: 2
  selector: {app: old}
  template: {metadata: {labels: {app: old}}, spec: {containers: [{name: c, image: i}]}}
---` + agent + "\n---" + sums + "\n---" + nightly

func TestABundleBecomesCurrent(t *testing.T) {
	for name, source := range map[string]func() setting{
		"fast":    func() setting { return setting{nodes: 3} },
		"general": func() setting { return setting{nodes: 3, pods: presets.PodGeneral, seed: 7} },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, source())
			l.load(bundle)
			l.advance(12 * time.Minute)
			for _, of := range []struct{ kind, name string }{
				{"StatefulSet", "db"}, {"Deployment", "web"}, {"ReplicationController", "old"}, {"DaemonSet", "agent"}, {"Job", "sums"}, {"CronJob", "nightly"},
				{"PersistentVolumeClaim", "cache"}, {"PersistentVolumeClaim", "data-db-0"}, {"PersistentVolumeClaim", "data-db-1"},
				{"Service", "db"}, {"Service", "web"}, {"Endpoints", "web"}, {"Namespace", "default"}, {"Node", "node-000"},
			} {
				l.requireCurrent(of.kind, of.name)
			}
			for _, kind := range []string{"ReplicaSet", "PersistentVolume", "EndpointSlice", "ControllerRevision"} {
				for _, obj := range l.list(kind, "") {
					l.requireCurrent(kind, obj.GetName())
				}
			}
			require.Empty(t, l.fails)
		})
	}
}

func TestClaimsAreBound(t *testing.T) {
	l := newLab(t, setting{nodes: 1})
	l.load(standardClass + `
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: cache}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}}`)
	l.settle()
	require.Equal(t, "Pending", l.field("PersistentVolumeClaim", "cache", "status", "phase"), "no Pod wants it yet")
	require.Equal(t, "standard", l.field("PersistentVolumeClaim", "cache", "spec", "storageClassName"))

	l.load(`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}], volumes: [{name: v, persistentVolumeClaim: {claimName: cache}}]}}`)
	l.settle()
	l.requireCurrent("Pod", "p")
	l.requireStatus("PersistentVolumeClaim", "cache", `{phase: Bound, accessModes: [ReadWriteOnce], capacity: {storage: 2Gi}}`)
	volume := l.list("PersistentVolume", "")[0]
	l.requireStatus("PersistentVolume", volume.GetName(), `{phase: Bound, lastPhaseTransitionTime: "2026-01-01T00:00:00Z"}`)

	l.delete("PersistentVolumeClaim", "cache")
	l.settle()
	require.Empty(t, l.list("PersistentVolume", ""), "what was made for a claim goes with it")
	require.Empty(t, l.fails)
}

func TestTheSmallestVolumeIsTaken(t *testing.T) {
	l := newLab(t, setting{nodes: 1})
	for name, size := range map[string]string{"a": "1Gi", "b": "5Gi", "c": "3Gi", "d": "4Gi"} {
		l.load(`{apiVersion: v1, kind: PersistentVolume, metadata: {name: ` + name + `}, spec: {accessModes: [ReadWriteOnce], capacity: {storage: ` + size + `}}}`)
	}
	l.load(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}}`)
	l.settle()
	require.Equal(t, "c", l.field("PersistentVolumeClaim", "x", "spec", "volumeName"))
	require.Equal(t, "Available", l.field("PersistentVolume", "b", "status", "phase"))
	l.load(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: shared}, spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}}`)
	l.settle()
	require.Equal(t, "Pending", l.field("PersistentVolumeClaim", "shared", "status", "phase"))
	l.delete("PersistentVolumeClaim", "x")
	l.settle()
	require.Equal(t, "Released", l.field("PersistentVolume", "c", "status", "phase"))
	l.load(`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}], volumes: [{name: v, persistentVolumeClaim: {claimName: shared}}]}}`)
	l.settle()
	require.Contains(t, l.status("Pod", "p"), "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.")
}

func TestEndpointsListThePodsOfAService(t *testing.T) {
	l := newLab(t, setting{nodes: 1})
	l.load(bundle)
	l.settle()
	slices := l.list("EndpointSlice", "kubernetes.io/service-name=web")
	require.Len(t, slices, 1)
	found, _, _ := unstructured.NestedSlice(slices[0].Object, "endpoints")
	require.Len(t, found, 2)
	require.Equal(t, map[string]any{"ready": true, "serving": true, "terminating": false}, found[0].(map[string]any)["conditions"])
	require.Equal(t, []any{map[string]any{"name": "http", "port": int64(8080), "protocol": "TCP"}}, slices[0].Object["ports"])
	subsets, _, _ := unstructured.NestedSlice(l.get("Endpoints", "web").Object, "subsets")
	require.Len(t, subsets[0].(map[string]any)["addresses"], 2)

	l.load(podWith("guest", small))
	l.patch("Pod", "guest", `{metadata: {labels: {app: web}, ownerReferences: [{apiVersion: v1, kind: Host, name: h, uid: u, controller: true}]}}`)
	l.settle()
	subsetCount := func() int {
		subsets, _, _ := unstructured.NestedSlice(l.get("Endpoints", "web").Object, "subsets")
		return len(subsets)
	}
	require.Equal(t, 2, subsetCount(), "it has no port of the name that is asked for")
	l.patch("Pod", "guest", `{metadata: {labels: {app: other}}}`)
	l.settle()
	require.Equal(t, 1, subsetCount(), "no longer selected")

	l.patch("Deployment", "web", `{spec: {replicas: 0}}`)
	l.settle()
	slices = l.list("EndpointSlice", "kubernetes.io/service-name=web")
	require.Len(t, slices, 1)
	require.Empty(t, slices[0].Object["endpoints"])
}
