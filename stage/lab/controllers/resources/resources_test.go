package resources_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/resources"
)

func TestOfPod(t *testing.T) {
	for name, tc := range map[string]struct {
		spec string
		want resources.Amounts
	}{
		"nothing": {"{}", resources.Amounts{}},
		"the sum of containers": {`
containers:
- {resources: {requests: {cpu: 100m}}}
- {resources: {requests: {cpu: 1, memory: 1Ki}}}`, resources.Amounts{"cpu": 1100, "memory": 1024}},
		"limits without requests": {`
containers:
- {resources: {limits: {gpu: 2, cpu: 2}, requests: {cpu: 1}}}`, resources.Amounts{"gpu": 2, "cpu": 1000}},
		"the highest init container": {`
initContainers:
- {resources: {requests: {cpu: 3}}}
- {resources: {requests: {cpu: 2}}}
containers:
- {resources: {requests: {cpu: 1}}}`, resources.Amounts{"cpu": 3000}},
		"a sidecar goes on": {`
initContainers:
- {restartPolicy: Always, resources: {requests: {cpu: 1}}}
- {resources: {requests: {cpu: 2}}}
containers:
- {resources: {requests: {cpu: 1}}}`, resources.Amounts{"cpu": 3000}},
		"overhead": {`
containers: [{resources: {requests: {cpu: 1}}}]
overhead: {cpu: 250m}`, resources.Amounts{"cpu": 1250}},
		"what cannot be read": {`
containers: [3, {resources: {requests: {cpu: lots, memory: {}}}}]`, resources.Amounts{}},
	} {
		t.Run(name, func(t *testing.T) {
			var spec map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(tc.spec), &spec))
			require.Equal(t, tc.want, resources.OfPodSpec(spec))
			pod := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
			require.Equal(t, tc.want, resources.OfPod(pod))
		})
	}
}

func TestCovers(t *testing.T) {
	free := resources.Amounts{"cpu": 1000, "gpu": -1}
	require.True(t, free.Covers(resources.Amounts{"cpu": 1000, "memory": 0}))
	require.False(t, free.Covers(resources.Amounts{"cpu": 1001}))
	require.False(t, free.Covers(resources.Amounts{"memory": 1}), "nothing is known of it")
	require.False(t, free.Covers(resources.Amounts{"gpu": 0}))
}
