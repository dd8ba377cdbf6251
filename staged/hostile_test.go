package staged_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/race"
	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A CombinedStatus that somebody else writes has all labels of the true one, and says that all is
// well.
func TestForgedStatusLabels(t *testing.T) {
	forge := func(change func(*control.CombinedStatus)) *control.CombinedStatus {
		s := cells("o0000", "1")
		s.Namespace = "shop"
		change(s)
		return s
	}
	for name, s := range map[string]*control.CombinedStatus{
		"in another namespace":          forge(func(s *control.CombinedStatus) { s.Namespace = "theirs" }),
		"in that of cluster-scoped":     forge(func(s *control.CombinedStatus) { s.Namespace = control.ReportNamespace }),
		"of another BindingPolicy":      forge(func(s *control.CombinedStatus) { s.Labels[control.StatusLabelPrefix+"binding-policy"] = "s.stage.prod" }),
		"of another object":             forge(func(s *control.CombinedStatus) { s.Labels[control.StatusLabelPrefix+"name"] = "o9999" }),
		"of an earlier BindingPolicy":   forge(func(s *control.CombinedStatus) { s.Name = "o0000.q" }),
		"without labels":                forge(func(s *control.CombinedStatus) { s.Labels = nil }),
		"without a uid":                 forge(func(s *control.CombinedStatus) { s.Name = "" }),
		"beside it, of the same object": forge(func(s *control.CombinedStatus) { s.Name = "forged.p" }),
	} {
		t.Run(name, func(t *testing.T) {
			r, status, change := large(t, 2, 1)
			r.ObserveStatus(s)
			require.Equal(t, "dev", r.Decide(status, start).Status.ActiveStage)
			change("0") // the order in which they are seen does not matter
			require.Equal(t, "dev", r.Decide(status, start).Status.ActiveStage)
			r.ForgetStatus(s)
			require.Contains(t, r.Decide(status, start).Message, "shop/o0000 in c000: saw agg: sum = 0", "the true one is still known")
			change("1")
			require.Equal(t, "prod", r.Decide(status, start).Status.ActiveStage)
		})
	}
}

// TestFiveThousandClusters has a rollout over five thousand silent clusters: what is
// decided is said in a few words, and a decision takes no more memory than the names.
func TestFiveThousandClusters(t *testing.T) {
	if race.On {
		t.Skip("it is about work and memory, and takes many times as long with the race detector")
	}
	r, status, _ := large(t, 10, 5_000)
	for i := range 10 {
		object := fleet.ObjectRef{Group: "apps", Resource: "deployments", Namespace: "shop", Name: fmt.Sprintf("o%04d", i)}
		r.ObserveReport(bindingpolicy.Report{BindingPolicy: "s.stage.dev", Object: object})
	}
	d := r.Decide(status, start)
	require.Equal(t, int32(5_000), d.Status.Stages[0].Counts.Destinations)
	require.Less(t, len(d.Message), 1<<10)
	lines := ""
	for _, l := range r.Explain(status, start) {
		require.Less(t, len(l.String()), 2<<10)
		lines += l.String()
	}
	require.Contains(t, lines, "no status of the bound workload from c000, c001, c002, and 4997 more")
	least := testing.AllocsPerRun(3, func() { r.Decide(status, start) })
	require.Less(t, least, 500_000.0)
}

// TestFiveThousandBatches has as many batches as a policy may have clusters: a decision starts one, and its work does not
// grow faster than the clusters.
func TestFiveThousandBatches(t *testing.T) {
	if race.On {
		t.Skip("it is about work and memory, and takes many times as long with the race detector")
	}
	work := func(n int) float64 {
		r := bindingpolicy.NewRollout(compile(t, policyHead+"  stages: [{name: dev, clusterSelectors: [{}], condition: 'true', maxConcurrency: 1}]\n"))
		clusters := map[string]map[string]string{}
		for i := range n {
			name := fmt.Sprintf("c%05d", i)
			clusters[name] = map[string]string{"name": name}
		}
		r.ObserveClusters(clusters)
		d := r.Decide(v1alpha1.Status{}, start)
		require.GreaterOrEqual(t, len(d.Status.Stages[0].Batches), n/2)
		require.Len(t, d.Ensure, 1)
		return testing.AllocsPerRun(3, func() { r.Decide(d.Status, start) })
	}
	require.Less(t, work(5_000), 4*10*work(500))
}

// Clusters report texts that look like our lines, and long ones: a message stays a line.
func TestClustersForgeNoLine(t *testing.T) {
	const forged = "x\nforged: all is well\r\u2028forged: \x1b[2J \u202egnp\u009b31m"
	long := forged + strings.Repeat("ä", 1<<20)
	r, status, _ := large(t, 2, 1)
	s := cells("o0000", long)
	s.Results[0].ColumnNames = []string{"sum", forged}
	s.Results[0].Rows[0].Columns = append(s.Results[0].Rows[0].Columns,
		control.Value{Type: "Object", Object: &control.JSON{Raw: []byte("{\n\"a\": \"\u202e\"}")}})
	s.Results = append(s.Results, control.NamedStatusCombination{Name: forged, ColumnNames: []string{forged}, RowErrors: []control.RowError{{Error: long}}})
	r.ObserveStatus(s)
	d := r.Decide(status, start.Add(time.Second))
	texts := []string{d.Message, d.Status.Stages[0].Message}
	for _, c := range d.Status.Conditions {
		texts = append(texts, c.Message)
	}
	for _, l := range r.Explain(d.Status, start) {
		texts = append(texts, l.String())
	}
	require.Contains(t, d.Message, `x\nforged: all is well\r\u2028forged: \x1b[2J`)
	for _, text := range texts {
		require.Equal(t, -1, strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }), "%q", text)
		require.Less(t, len(text), 4<<10)
	}
}
