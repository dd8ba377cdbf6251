package histories

import (
	"fmt"
	"strings"
)

// phases is the number of Stages that a Pod goes through.
const phases = 6

// stages are the Stages of a history. Other versions differ in a text only.
func stages(version, delay int) string {
	var b strings.Builder
	for i := range phases {
		from := fmt.Sprintf("p%d", i)
		if i == 0 {
			from = "Pending"
		}
		b.WriteString(strings.NewReplacer("$I", fmt.Sprint(i), "$FROM", from, "$TO", fmt.Sprintf("p%d", i+1), "$VERSION", fmt.Sprint(version), "$DELAY", fmt.Sprint(delay)).Replace(phase))
	}
	return b.String() + deletion
}

const phase = `---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: s$I, annotations: {version: "$VERSION"}}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .status.phase, operator: In, values: [$FROM]}
    - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
  delay: {durationMilliseconds: $DELAY}
  steps:
  - event: {type: Normal, reason: R$I, message: once}
  - patch:
      root: metadata
      template: 'annotations: {m$I: "{{ or (index (or .metadata.annotations dict) "m$I") "" }}x", at$I: "{{ Now }}"}'
  - apply:
      template: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "{{ .metadata.uid }}-$I", namespace: default}
        data: {uid: "{{ .metadata.uid }}"}
  - patch:
      subresource: status
      root: status
      template: |
        observedGeneration: {{ add (or .status.observedGeneration 0) 1 }}
        phase: $TO
        message: "{{ or .status.message "" }}$I,"
`

const deletion = `---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: deletion}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector: {matchExpressions: [{key: .metadata.deletionTimestamp, operator: Exists}]}
  delay: {durationMilliseconds: 300}
  steps:
  - finalizers: {empty: true}
  - delete: true
`
