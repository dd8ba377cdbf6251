package measure_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/measure"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
)

func printed(s measure.Series) (text string) {
	for _, p := range s {
		text += fmt.Sprintf(" %v:%v", p.Time.Sub(start).Seconds(), p.Value)
	}
	return text
}

func TestWindows(t *testing.T) {
	warm := measure.Window{From: 5 * time.Second, To: 15 * time.Second}
	for name, want := range map[string]string{
		"pending pods":       " 5:1 10:0 15:0",
		"use of gpu":         " 5:8 10:4 15:4",
		"utilization of gpu": " 5:1 10:0.5 15:0.5",
	} {
		m, ok := measure.Named(name)
		require.True(t, ok)
		require.Equal(t, want, printed(m.In(warm).Series(history())), name)
		require.Equal(t, name+" from 5s to 15s", m.In(warm).Name)
		again, ok := measure.Named(name + " from 5s to 15s")
		require.True(t, ok)
		require.Equal(t, want, printed(again.Series(history())), name)
		require.Empty(t, m.In(warm).Series(nil))
	}
	use := measure.Utilization("gpu")
	require.InDelta(t, 0.65, use.Sample(history()).Mean(), 1e-9, "with warm-up and drain")
	require.InDelta(t, 0.75, use.In(warm).Sample(history()).Mean(), 1e-9)
	require.Equal(t, " 5:8 10:4 16:0 20:0", printed(measure.Use("gpu").In(measure.Window{From: 5 * time.Second}).Series(history())))
	require.Equal(t, " 0:8 5:8", printed(measure.Use("gpu").In(measure.Window{To: 5 * time.Second}).Series(history())))
	require.Equal(t, " 0:8 10:4 16:0 20:0", printed(measure.Use("gpu").In(measure.Window{To: time.Hour}).Series(history())), "a horizon after the end")
	require.Empty(t, measure.Use("gpu").In(measure.Window{From: time.Hour}).Series(history()))
}

// TestSpansInWindows: spans count if they begin in the window.
func TestSpansInWindows(t *testing.T) {
	m := measure.ResponseTime()
	require.Equal(t, []float64{10, 15}, m.Sample(history()).Values())
	burst := measure.Window{Name: "burst", From: time.Second, To: 2 * time.Second}
	require.Equal(t, []float64{15}, m.In(burst).Sample(history()).Values())
	require.Equal(t, "response time in burst", m.In(burst).Name)
	require.Equal(t, []float64{10}, m.In(measure.Window{To: time.Second}).Sample(history()).Values())
	require.Zero(t, m.In(measure.Window{From: time.Minute}).Sample(history()).Count())
	require.Empty(t, m.In(burst).Spans(nil))
	compared := measure.Compare(history(), history(), m.In(burst))
	require.Equal(t, 1, compared[0].A.Count)
	for _, name := range []string{"pending pods from x", "pending pods from 2s to 1s", "nothing from 1s", "pending pods from 1s to"} {
		_, ok := measure.Named(name)
		require.False(t, ok, name)
	}
	own := measure.OverTime("mine", measure.In("Running"))
	got, ok := measure.Named("mine from 4s", own)
	require.True(t, ok)
	require.Equal(t, "mine from 4s", got.Name)
}

// TestACutLogKeepsTheState: from a time on, numbers are those of the whole log, and older objects
// do not count as new.
func TestACutLogKeepsTheState(t *testing.T) {
	at := start.Add(5 * time.Second)
	cut, whole := history().Since(at), measure.Window{From: 5 * time.Second}
	for _, name := range []string{"pending pods", "use of gpu", "capacity of gpu", "utilization of cpu", "number of Pod in Running"} {
		m, ok := measure.Named(name)
		require.True(t, ok)
		require.Equal(t, printed(m.In(whole).Series(history())), printed(m.Series(cut)), name)
	}
	require.Zero(t, measure.ResponseTime().Sample(cut).Count(), "a and b are older")
	require.Equal(t, []float64{4}, measure.TimeIn("Pod", "Running").Sample(cut).Values(), "nobody knows here how long a ran")
	require.Equal(t, history(), history().Since(start))
	require.Len(t, history().Since(start.Add(time.Hour)), 4, "the Node and Pod a are gone")
}

func TestTableOfJobs(t *testing.T) {
	log := history()
	for i := range log {
		if log[i].Kind == "Pod" {
			log[i].Owner = "Job.batch/" + log[i].Name
		}
	}
	log = append(log, at(21, record.Record{Kind: "Job.batch", Namespace: "other", Name: "a", UID: "x", To: "Pending"}))
	var b bytes.Buffer
	require.NoError(t, measure.WriteTable(&b, log, "Job.batch", measure.ResponseTime(), measure.DispatchTime()))
	require.Equal(t, `namespace,name,uid,created,ended,state,owned pods,response time,dispatch time,cpu,gpu
default,a,a,0,10,Complete,1,10,0,0.1,8
default,b,b,1,16,Failed,1,15,1,0.2,4
other,a,x,21,21,Pending,0,,,,
`, b.String())
	b.Reset()
	require.NoError(t, measure.WriteTable(&b, nil, "Pod"))
	require.Equal(t, "namespace,name,uid,created,ended,state,owned pods\n", b.String())
}
