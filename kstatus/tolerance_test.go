package kstatus_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

type fields = map[string]any

func widget(metadata, status any) fields {
	return fields{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "status": status}
}

func podWith(containers any) fields {
	return fields{"apiVersion": "v1", "kind": "Pod", "status": fields{"phase": "Running", "containerStatuses": containers}}
}

// TestTolerance has an object for each row of the table in the package documentation.
func TestTolerance(t *testing.T) {
	ready := fields{"type": "Ready", "status": "True"}
	behind := `InProgress LatestGenerationNotObserved: Widget generation is 3, but latest observed generation is 2 (status.observedGeneration)`
	isReady := `Current: Resource is Ready (status.conditions[type="Ready"])`
	cases := map[string][]struct {
		object fields
		want   string
	}{
		"numbers": {
			{widget(fields{"generation": 3.0}, fields{"observedGeneration": 2.0}), behind},
			{widget(fields{"generation": 3}, fields{"observedGeneration": uint8(2)}), behind},
			{widget(fields{"generation": "3"}, fields{"observedGeneration": json.Number("2")}), behind},
			{widget(fields{"generation": int64(2)}, fields{"observedGeneration": "2", "conditions": []any{ready}}), isReady},
		},
		"generation": {
			{widget(fields{"generation": nil}, fields{"observedGeneration": int64(1)}), "Current: Resource is current"},
			{widget(fields{"generation": int64(1)}, fields{"observedGeneration": "f00"}), "Current: Resource is current skipped status.observedGeneration"},
			{widget(fields{"generation": int64(1)}, fields{"observedGeneration": 0.5}), "Current: Resource is current skipped status.observedGeneration"},
			{widget(fields{"generation": fields{}}, fields{"observedGeneration": fields{}}), "Current: Resource is current skipped status.observedGeneration"},
		},
		"null":     {{widget(fields{"deletionTimestamp": nil}, nil), "Current: Resource is current"}},
		"deletion": {{widget(fields{"deletionTimestamp": 7}, nil), "Terminating: Resource scheduled for deletion (metadata.deletionTimestamp)"}},
		"bool": {
			{widget(nil, fields{"conditions": []any{fields{"type": "Ready", "status": true}}}), isReady},
			{widget(nil, fields{"conditions": []any{fields{"type": "Ready", "status": false, "reason": "No"}}}), `InProgress No (status.conditions[type="Ready"])`},
		},
		"condition": {
			{widget(nil, fields{"conditions": []any{"x", ready}}), isReady + " skipped status.conditions[0]"},
			{widget(nil, fields{"conditions": []any{ready, fields{"type": 5}}}), isReady + " skipped status.conditions[1]"},
			{widget(nil, fields{"conditions": []any{fields{"type": "Ready", "status": 5}, ready}}), isReady + " skipped status.conditions[0]"},
			{widget(nil, fields{"conditions": []any{nil, fields{}, ready}}), isReady},
		},
		"reason": {{widget(nil, fields{"conditions": []any{fields{"type": "Ready", "status": "False", "reason": 5, "message": fields{}}}}), `InProgress (status.conditions[type="Ready"])`}},
		"unreadable": {
			{widget("x", nil), "Unknown Unreadable: Failed to compute widget status: metadata has the wrong type (metadata)"},
			{widget(nil, "Running"), "Unknown Unreadable: Failed to compute widget status: status has the wrong type (status)"},
			{widget(nil, fields{"conditions": fields{}}), "Unknown Unreadable: Failed to compute widget status: status.conditions has the wrong type (status.conditions)"},
		},
		"containers": {
			{podWith("x"), "InProgress PodRunningNotReady: Pod is running but is not Ready (status.conditions)"},
			{podWith([]any{"x", nil, fields{"name": 5}, fields{"name": "a", "state": nil}}), "InProgress PodRunningNotReady: Pod is running but is not Ready (status.conditions)"},
		},
		"phase": {{fields{"apiVersion": "v1", "kind": "Pod", "status": fields{"phase": "Unknown"}}, "Unknown UnknownPhase: unknown phase Unknown (status.phase)"}},
		"nil":   {{nil, "Unknown NoObject: There is no object"}},
	}
	for name, rows := range cases {
		t.Run(name, func(t *testing.T) {
			for _, c := range rows {
				require.Equal(t, c.want, verdict(kstatus.Standard().Compute(&unstructured.Unstructured{Object: c.object}, now)))
			}
		})
	}
	require.Equal(t, kstatus.Unknown, kstatus.Compute(nil).Status)
}

func TestOtherGoTypesAreRead(t *testing.T) {
	obj := fields{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]string{"name": "x"},
		"status": fields{"conditions": []map[string]any{{"type": "Ready", "status": "True"}}}}
	require.Equal(t, "Current: Resource is Ready", kstatus.Standard().Compute(&unstructured.Unstructured{Object: obj}, now).String())
}
