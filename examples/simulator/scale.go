package main

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/examples/simulator/report"
	"github.com/stagecraft-go/stagecraft/stage/lab/load"
	"github.com/stagecraft-go/stagecraft/stage/lab/measure"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// podGap is the time between two Pods.
const podGap = 10 * time.Millisecond

// scale takes very many Pods through the scheduler and PodGeneral until they are ready.
func scale(ctx context.Context, o options, c *studyClock) (*report.Report, error) {
	l, err := newLab(ctx, labOptions{
		name: fmt.Sprintf("%d Pods on %d nodes", o.pods, o.nodes), seed: o.seed, nodes: o.nodes, stages: presets.PodGeneral(),
		goal: goal{"Pod", record.Ready, o.pods},
	})
	if err != nil {
		return nil, err
	}
	pod, err := object("pod", nil)
	if err != nil {
		return nil, err
	}
	load.Schedule(l, load.MustNew(o.seed, "gaps", load.Fixed(podGap.Seconds())).Arrivals(o.pods), func(ctx context.Context, i int) error {
		_, err := l.Cluster().Create(ctx, named(pod, "pod-"+strconv.Itoa(i+1)), metav1.CreateOptions{})
		return err
	})
	if err := l.play(ctx, c, never); err != nil {
		return nil, err
	}
	c.progress.End()
	return scaleReport(o, l), nil
}

// named returns an object with another name. It shares everything except the metadata.
func named(obj map[string]any, name string) *unstructured.Unstructured {
	copied := maps.Clone(obj)
	copied["metadata"] = map[string]any{"namespace": "default", "name": name}
	return &unstructured.Unstructured{Object: copied}
}

func scaleReport(o options, l *lab) *report.Report {
	scheduling := measure.SchedulingLatency()
	ready := measure.Between("time to ready", "Pod", nil, measure.In(record.Ready))
	t := report.Table{Title: "seconds since creation", Head: summaryHead()}
	var values []report.Series
	for _, m := range []measure.Metric{scheduling, ready} {
		s := m.Sample(l.log)
		t.Rows = append(t.Rows, summaryRow(m.Name, s.Summary()))
		values = append(values, report.Sample(m.Name, s.Values()))
	}
	cdf := report.CDF("time-to-ready", "Seconds since creation", values...)
	cdf.X, cdf.Y = "seconds", "share"
	pods := overTime("ready-pods", "Ready Pods", measure.NumberIn("Pod", record.Ready), []*lab{l})
	return &report.Report{
		Title: "Very many Pods",
		Lead:  "A hundred Pods a second go through the scheduler and the general lifecycle of kwok until they are ready.",
		Parameters: append([]report.Parameter{
			{Name: "seed", Value: strconv.FormatUint(o.seed, 10)},
			{Name: "Pods", Value: strconv.Itoa(o.pods)},
			{Name: "nodes", Value: strconv.Itoa(o.nodes)},
			{Name: "a Pod each", Value: podGap.String()},
			{Name: "Stages", Value: "node-fast, pod-general"},
			{Name: "transitions", Value: strconv.Itoa(len(l.log))},
		}, timingParameters(l.timing)...),
		Sections: append([]report.Section{{Tables: []report.Table{t}, Charts: []report.Chart{cdf, pods}}}, ignored(l)...),
	}
}
