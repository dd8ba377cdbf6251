package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/record"
)

// A report has a section about features that are not modelled, if objects ask for them.
func TestReportsSayWhatIsIgnored(t *testing.T) {
	l, err := newLab(t.Context(), labOptions{name: "run", nodes: 1, stages: studyStages(), goal: goal{"Job.batch", record.Complete, 1}})
	require.NoError(t, err)
	require.Empty(t, ignored(l))
	require.NoError(t, l.Cluster().Load(t.Context(), []byte(`{apiVersion: v1, kind: Pod, metadata: {name: a},
  spec: {serviceAccountName: robot, containers: [{name: c, image: i}]}}`)))
	require.NoError(t, l.Advance(t.Context(), 0))
	sections := ignored(l, l)
	require.Len(t, sections, 1)
	require.Equal(t, [][]string{{"Pod spec.serviceAccountName", "the ServiceAccount has to exist", "2", "default/a"}}, sections[0].Tables[0].Rows)
}
