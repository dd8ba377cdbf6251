package rehearse_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/rehearse"
)

const foundry = `apiVersion: community.kubestellar.io/v1alpha1
kind: StagedBindingPolicy
metadata: {name: foundry}
spec:
  downsync: [{statusCollectors: [ready]}]
  stages:
  - name: dev
    clusterSelectors: [{matchLabels: {env: dev}}]
    filter: downsyncClause.resource == 'foundries'
    condition: num('clusters') == destinations.size()
  - name: prod
    clusterSelectors: [{matchLabels: {env: prod}}]
---
apiVersion: v1
kind: Namespace
metadata: {name: iron}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
---
apiVersion: example.org/v1
kind: Foundry
metadata: {name: f, namespace: iron, finalizers: [example.org/not-yours]}
status: {ready: true}
`

const foundries = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foundries.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {plural: foundries, kind: Foundry}
  versions: [{name: v1, served: true, storage: true, subresources: {status: {}}}]
`

const stages = `apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: ready}
spec:
  resourceRef: {apiGroup: example.org/v1, kind: Foundry}
  selector: {matchExpressions: [{key: .status.ready, operator: DoesNotExist}]}
  delay: {durationMilliseconds: 3000}
  next: {statusTemplate: "ready: true"}
`

// foundryInput is a policy for a custom resource and for objects that have no status.
func foundryInput(t *testing.T, text string) rehearse.Input {
	source := staged.Parse("foundry.yaml", []byte(text))
	filter := "has(returned.status.ready) && returned.status.ready"
	ready := control.StatusCollector{Spec: control.StatusCollectorSpec{
		Filter: &filter, CombinedFields: []control.NamedAggregator{{Name: "clusters", Type: "COUNT"}},
	}}
	ready.Name = "ready"
	set, err := stage.Compile(stage.Options{}, stage.Parse("stages.yaml", []byte(stages)))
	require.NoError(t, err)
	return rehearse.Input{Policy: source.Policies()[0], Objects: source.Others(), Collectors: []control.StatusCollector{ready}, Stages: set,
		Clusters: []rehearse.Cluster{{Name: "dev1", Labels: map[string]string{"env": "dev"}}, {Name: "prod1", Labels: map[string]string{"env": "prod"}}}}
}

func TestAnyKindMayBeRehearsed(t *testing.T) {
	for name, text := range map[string]string{"with its definition": foundry + foundries, "without": foundry} {
		t.Run(name, func(t *testing.T) {
			timeline := run(t, foundryInput(t, text))
			require.True(t, timeline.Succeeded, timeline)
			require.Contains(t, timeline.String(), "+0s        cluster dev1: foundries.example.org iron/f arrives")
			require.Contains(t, timeline.String(), "+0s        cluster dev1: configmaps default/settings arrives")
			require.Contains(t, timeline.String(), "+3s        cluster prod1: foundries.example.org iron/f arrives")
			require.Contains(t, timeline.String(), "+3s        cluster dev1: foundries.example.org iron/f is gone")
		})
	}
}

func TestScriptsOfAKind(t *testing.T) {
	in := foundryInput(t, foundry)
	in.Clusters[0].Script = []rehearse.Status{
		{After: time.Second, Kind: "Namespace", Status: map[string]any{"ready": true}},
		{After: time.Minute, Status: map[string]any{"ready": true}},
	}
	in.Clusters[0].Latency = time.Second
	timeline := run(t, in)
	require.Contains(t, timeline.String(), "+1m1s      stage dev: satisfied", "in place of its Stages, and slowly")
}

// TestWhatIsStillThereIsWaitedFor: the workload comes back to a cluster where it is still being
// deleted.
func TestWhatIsStillThereIsWaitedFor(t *testing.T) {
	in := foundryInput(t, foundry)
	in.Policy.Spec.Stages[1].Condition, in.Policy.Spec.Stages[1].OnFailure = "num('clusters') == 5", "Rollback"
	in.Policy.Spec.Stages[1].WithdrawFirst = true
	deadline := int32(10)
	in.Policy.Spec.Stages[1].ProgressDeadlineSeconds = &deadline
	var err error
	in.Stages, err = stage.Compile(stage.Options{}, stage.Parse("stages.yaml", []byte(stages+`---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: hold}
spec:
  resourceRef: {apiGroup: example.org/v1, kind: Foundry}
  selector:
    matchExpressions:
    - {key: .metadata.finalizers, operator: DoesNotExist}
    - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
  weight: 1000
  next: {finalizers: {add: [{value: example.org/hold}]}}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: release}
spec:
  resourceRef: {apiGroup: example.org/v1, kind: Foundry}
  selector: {matchExpressions: [{key: .metadata.deletionTimestamp, operator: Exists}]}
  delay: {durationMilliseconds: 60000}
  next: {finalizers: {empty: true}}
`)))
	require.NoError(t, err)
	text := run(t, in).String()
	require.Contains(t, text, "+3s        cluster dev1: foundries.example.org iron/f is gone")
	require.Contains(t, text, "+13s       BindingPolicy foundry.stage.dev: created")
	require.Contains(t, text, "+13s       cluster dev1: configmaps default/settings arrives")
	require.Contains(t, text, "+1m3s      cluster dev1: foundries.example.org iron/f arrives", "a minute later than it was deleted")
}

func TestObjectsAreOnlyRead(t *testing.T) {
	in := foundryInput(t, foundry+foundries)
	before := []*unstructured.Unstructured{}
	for _, obj := range in.Objects {
		before = append(before, obj.DeepCopy())
	}
	run(t, in)
	require.Equal(t, before, in.Objects)
}
