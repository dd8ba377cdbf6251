package recording_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/internal/dev/recording"
)

func objects(t *testing.T, text string) (objs []*unstructured.Unstructured) {
	var list []map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &list))
	for _, m := range list {
		objs = append(objs, &unstructured.Unstructured{Object: m})
	}
	return objs
}

// before has two templates. The second name in the alphabet is the older one.
const before = `
- {apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-aaaa, namespace: ns,
  uid: 7fa6445f-e71a-4482-b8f0-de6231b275f8, creationTimestamp: "2026-01-02T00:00:02Z", resourceVersion: "9",
  labels: {pod-template-hash: aaaa}}, spec: {replicas: "1", template: {}},
   status: {message: 'pods "web-aaaa-x7k2p" is forbidden', at: "2026-01-02T00:00:02.5Z"}}
- {apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-bbbb, namespace: ns,
  creationTimestamp: "2026-01-02T00:00:01Z", labels: {pod-template-hash: bbbb}}}
- {apiVersion: batch/v1, kind: Job, metadata: {name: tick-29384756, ownerReferences: [{kind: CronJob, name: tick}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: tick-29384756-abcde, generateName: tick-29384756-, annotations: {recording.stagecraft/play: ready}},
   spec: {nodeName: recording-node-2, containers: []}, status: {podIP: 10.1.2.3, text: the address 10.1.2.3}}
`

const after = `
- {apiVersion: v1, kind: Pod, metadata: {name: tick-<minutes>-<random>, generateName: tick-<minutes>-},
  spec: {nodeName: <node>}, status: {podIP: <ip>, text: the address 10.1.2.3}}
- {apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-<hash-1>, labels: {pod-template-hash: <hash-1>}}}
- {apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-<hash-2>, labels: {pod-template-hash: <hash-2>}}, spec: {replicas: "1"},
   status: {message: 'pods "web-<hash-2>-<random>" is forbidden', at: <time>}}
`

func TestWhatDiffersFromRunToRunIsReplaced(t *testing.T) {
	n := recording.NewNormalizer("ns")
	text, err := yaml.Marshal(n.Objects(objects(t, before), []string{"Pod", "ReplicaSet"}))
	require.NoError(t, err)
	require.YAMLEq(t, after, string(text))
}

func TestHashesAreRememberedFromPhaseToPhase(t *testing.T) {
	n := recording.NewNormalizer("ns")
	n.Objects(objects(t, before), []string{"ReplicaSet"})
	got := n.Objects(objects(t, `[{apiVersion: v1, kind: Pod, metadata: {name: p}, status: {hash: aaaa}}]`), []string{"Pod"})
	require.Equal(t, map[string]any{"hash": "<hash-2>"}, got[0]["status"])
}

func TestScriptsAreReadStrictly(t *testing.T) {
	for _, text := range []string{"kinds: [Pod, Gadget]", "phases: [{name: a, unless: x}]", "phases: [{do: [{play: {pods: x}}]}]"} {
		_, err := recording.Parse([]byte(text))
		require.Error(t, err, text)
	}
}
