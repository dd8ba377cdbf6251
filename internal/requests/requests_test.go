package requests_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/internal/requests"
)

func TestWhatPodsNeed(t *testing.T) {
	for name, tc := range map[string]struct {
		spec string
		want requests.Amounts
	}{
		"nothing":                    {"{}", requests.Amounts{}},
		"the sum of containers":      {"{containers: [{resources: {requests: {cpu: 100m}}}, {resources: {requests: {cpu: 1, memory: 1Ki}}}]}", requests.Amounts{"cpu": 1100, "memory": 1024}},
		"limits without requests":    {"{containers: [{resources: {limits: {gpu: 2, cpu: 2}, requests: {cpu: 1}}}]}", requests.Amounts{"gpu": 2, "cpu": 1000}},
		"the largest init container": {"{initContainers: [{resources: {requests: {cpu: 3}}}, {resources: {requests: {cpu: 2}}}], containers: [{resources: {requests: {cpu: 1}}}]}", requests.Amounts{"cpu": 3000}},
		"sidecars stay":              {"{initContainers: [{restartPolicy: Always, resources: {requests: {cpu: 1}}}, {resources: {requests: {cpu: 2}}}], containers: [{resources: {requests: {cpu: 1}}}]}", requests.Amounts{"cpu": 3000}},
		"overhead":                   {"{containers: [{resources: {requests: {cpu: 1}}}], overhead: {cpu: 250m}}", requests.Amounts{"cpu": 1250}},
		"nonsense is nothing":        {"{containers: [3, {resources: {requests: {cpu: lots, memory: {}}}}]}", requests.Amounts{}},
	} {
		t.Run(name, func(t *testing.T) {
			var spec map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(tc.spec), &spec))
			require.Equal(t, tc.want, requests.Of(map[string]any{"spec": spec}))
		})
	}
}
