package labtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// TestWhatChartsHaveBecomesCurrent has the kinds in charts that have no workload controller.
func TestWhatChartsHaveBecomesCurrent(t *testing.T) {
	lab := labtest.New(t, labtest.Options{})
	lab.Apply(`
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web}, spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {minAvailable: 1, selector: {matchLabels: {app: bare}}}}
---
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {minReplicas: 1,
  maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: ReplicaSet, name: bare}}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: web}}
---
{apiVersion: v1, kind: Secret, metadata: {name: web}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "shop:web"}}
---
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: web}}
---
{apiVersion: v1, kind: ResourceQuota, metadata: {name: web}, spec: {hard: {pods: "10"}}}
---
{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.example.com}, spec: {group: example.com, version: v1}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: trains.example.com},
  spec: {group: example.com, scope: Namespaced, names: {kind: Train, plural: trains}, versions: [{name: v1, served: true, storage: true,
  schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: disk}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: manual, hostPath: {path: /x}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: bare}, spec: {selector: {matchLabels: {app: bare}}, template: {
  metadata: {labels: {app: bare}, annotations: {metrics.stagecraft-go.github.io/cpu: 80m}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]}}}}
`)
	lab.WaitCurrent()
	lab.Settle()
	lab.WaitCurrent()
}

func TestStandInsLeaveAloneWhatIsCurrent(t *testing.T) {
	train := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Train"}
	lab := labtest.New(t, labtest.Options{Kinds: []memory.Kind{{GroupVersionKind: train, Status: true}}, Controllers: labtest.StandIns(train)})
	lab.Apply(`{apiVersion: example.com/v1, kind: Train, metadata: {name: t}, status: {conditions: [{type: Ready, status: "True", reason: OnTime}]}}`)
	before := lab.Get("example.com/v1", "Train", "t")
	lab.Settle()
	require.Equal(t, before, lab.Get("example.com/v1", "Train", "t"))
}

func TestStandInsForCustomKinds(t *testing.T) {
	certificate := schema.GroupVersionKind{Group: "certs.example.com", Version: "v1", Kind: "Certificate"}
	plain := schema.GroupVersionKind{Group: "certs.example.com", Version: "v1", Kind: "Plain"}
	lab := labtest.New(t, labtest.Options{
		Kinds:       []memory.Kind{{GroupVersionKind: certificate, Status: true}, {GroupVersionKind: plain}},
		Controllers: labtest.StandIns(certificate, plain),
	})
	lab.Apply(`{apiVersion: certs.example.com/v1, kind: Certificate, metadata: {name: web}, spec: {dns: a},
  status: {conditions: [{type: Issuing, status: "True"}, {type: Ready, status: "False"}]}}`,
		`{apiVersion: certs.example.com/v1, kind: Plain, metadata: {name: web}, status: {conditions: [{type: Ready, status: "False"}]}}`)
	lab.WaitCurrent()
	lab.Apply(`{apiVersion: certs.example.com/v1, kind: Certificate, metadata: {name: web}, spec: {dns: b}}`)
	lab.Settle()
	made := lab.Get("certs.example.com/v1", "Certificate", "web")
	labtest.RequireCurrent(t, made)
	require.EqualValues(t, 2, made.GetGeneration())
	require.EqualValues(t, 2, field(made, "status", "observedGeneration"))

	for _, kind := range []string{"Certificate", "Plain"} {
		lab.Drive(object("certs.example.com/v1", kind, "web"), kstatustest.Failed)
		lab.Settle()
		require.Equal(t, kstatus.Failed, computed(lab.Get("certs.example.com/v1", kind, "web")), kind)
		lab.Drive(object("certs.example.com/v1", kind, "web"), labtest.Ready)
	}
	lab.WaitCurrent()
}
