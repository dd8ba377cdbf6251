package batch_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/batch"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

var (
	cronJobKind = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"}
	jobKind     = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	eventKind   = schema.GroupVersionKind{Version: "v1", Kind: "Event"}
)

// A cronCluster has the controller of CronJobs alone. Jobs never end.
type cronCluster struct {
	*simulation.Simulation
	t      *testing.T
	starts []string // the times that Jobs were started for, and when
	events []string
}

func newCronCluster(t *testing.T, start string) *cronCluster {
	at, err := time.Parse(time.RFC3339, start)
	require.NoError(t, err)
	c := &cronCluster{t: t}
	set, err := stage.Compile(stage.Options{})
	require.NoError(t, err)
	c.Simulation, err = simulation.New(set, simulation.Options{
		Start: at, Controllers: []reconcile.Controller{batch.CronJobs()}, Reconcile: reconcile.Options{Events: true},
	})
	require.NoError(t, err)
	require.NoError(t, c.On(jobKind, func(_ context.Context, e watch.Event) error {
		if e.Type == watch.Added {
			scheduled := e.Object.(*unstructured.Unstructured).GetAnnotations()["batch.kubernetes.io/cronjob-scheduled-timestamp"]
			c.starts = append(c.starts, scheduled+" at "+c.Now().UTC().Format("15:04:05.0"))
		}
		return nil
	}))
	require.NoError(t, c.On(eventKind, func(_ context.Context, e watch.Event) error {
		obj := e.Object.(*unstructured.Unstructured)
		c.events = append(c.events, fmt.Sprintf("%v %v: %v", obj.Object["type"], obj.Object["reason"], obj.Object["message"]))
		return nil
	}))
	return c
}

func (c *cronCluster) load(spec string) {
	require.NoError(c.t, c.Cluster().Load(context.Background(), []byte(`
apiVersion: batch/v1
kind: CronJob
metadata: {name: cj}
spec: {`+spec+`, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}`)))
}

func (c *cronCluster) patch(spec string) {
	name := types.NamespacedName{Namespace: "default", Name: "cj"}
	_, err := c.Cluster().Patch(context.Background(), cronJobKind, name, types.MergePatchType, []byte(`{"spec": {`+spec+`}}`), metav1.PatchOptions{})
	require.NoError(c.t, err)
}

func (c *cronCluster) advance(d time.Duration) {
	require.NoError(c.t, c.Advance(context.Background(), d))
}

func TestSchedulesWhenClocksChange(t *testing.T) {
	const spring, autumn = "2026-03-07T05:00:00Z", "2026-10-31T04:00:00Z" // midnight in New York, the day before
	for name, test := range map[string]struct {
		start, spec string
		want        []string
	}{
		"02:30 is skipped": {spring, `schedule: "30 2 * * *", timeZone: America/New_York`, []string{
			"2026-03-07T02:30:00-05:00 at 07:30:00.1", "2026-03-09T02:30:00-04:00 at 06:30:00.1"}},
		"01:30 is twice": {autumn, `schedule: "30 1 * * *", timeZone: America/New_York`, []string{
			"2026-10-31T01:30:00-04:00 at 05:30:00.1", "2026-11-01T01:30:00-04:00 at 05:30:00.1",
			"2026-11-01T01:30:00-05:00 at 06:30:00.1", "2026-11-02T01:30:00-05:00 at 06:30:00.1"}},
		"every 12 hours from its creation": {"2026-03-07T05:07:00Z", `schedule: "@every 12h", timeZone: America/New_York`, []string{
			"2026-03-07T12:07:00-05:00 at 17:07:00.1", "2026-03-08T00:07:00-05:00 at 05:07:00.1", "2026-03-08T13:07:00-04:00 at 17:07:00.1",
			"2026-03-09T01:07:00-04:00 at 05:07:00.1", "2026-03-09T13:07:00-04:00 at 17:07:00.1"}},
		"a step is not a star": {spring, `schedule: "0 12 */31 * MON"`, []string{"2026-03-09T12:00:00Z at 12:00:00.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCronCluster(t, test.start)
			c.load(test.spec)
			c.advance(72 * time.Hour)
			require.Equal(t, test.want, c.starts)
		})
	}
}

func TestSchedulesThatCannotBeRead(t *testing.T) {
	for spec, want := range map[string]string{
		`schedule: "* * * *"`:                          `Warning UnparseableSchedule: unparseable schedule: "* * * *" : expected exactly 5 fields, found 4: [* * * *]`,
		`schedule: "60 * * * *"`:                       `Warning UnparseableSchedule: unparseable schedule: "60 * * * *" : end of range (60) above maximum (59): 60`,
		`schedule: "* * * * 7"`:                        `Warning UnparseableSchedule: unparseable schedule: "* * * * 7" : end of range (7) above maximum (6): 7`,
		`schedule: "* 5-1 * * *"`:                      `Warning UnparseableSchedule: unparseable schedule: "* 5-1 * * *" : beginning of range (5) beyond end of range (1): 5-1`,
		`schedule: "* * */0 * *"`:                      `Warning UnparseableSchedule: unparseable schedule: "* * */0 * *" : step of range should be a positive number: */0`,
		`schedule: "@often"`:                           `Warning UnparseableSchedule: unparseable schedule: "@often" : unrecognized descriptor: @often`,
		`schedule: "0 0 31 2 ?"`:                       `Warning InvalidSchedule: invalid schedule: 0 0 31 2 ? : time difference between two schedules is less than 1 second`,
		`schedule: "* * * * *", timeZone: Mars/Phobos`: `Warning UnknownTimeZone: invalid timeZone: "Mars/Phobos": unknown time zone Mars/Phobos`,
	} {
		t.Run(spec, func(t *testing.T) {
			c := newCronCluster(t, "2026-01-01T00:00:00Z")
			c.load(spec)
			c.advance(24 * time.Hour)
			require.Equal(t, []string{want}, c.events)
			require.Empty(t, c.starts)
		})
	}
}

func TestMissedStarts(t *testing.T) {
	for name, test := range map[string]struct {
		suspended     time.Duration
		spec          string
		starts, warns []string
	}{
		"the last of a few is made up for": {50 * time.Minute, `schedule: "*/10 * * * *"`, []string{"2026-01-01T00:50:00Z at 00:55:00.0"}, nil},
		"of more than 100, too": {1100 * time.Minute, `schedule: "*/10 * * * *"`, []string{"2026-01-01T18:20:00Z at 18:25:00.0"},
			[]string{"Warning TooManyMissedTimes: too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"}},
		"not after the deadline": {50 * time.Minute, `schedule: "*/10 * * * *", startingDeadlineSeconds: 60`, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCronCluster(t, "2026-01-01T00:00:00Z")
			c.load(test.spec + ", suspend: true")
			c.advance(test.suspended + 5*time.Minute)
			c.patch(`"suspend": false`)
			c.advance(time.Minute)
			require.Equal(t, test.starts, c.starts)
			require.Subset(t, c.events, test.warns)
		})
	}
}

func TestAScheduleThatChangesMakesUpForNothing(t *testing.T) {
	c := newCronCluster(t, "2026-01-01T00:00:00Z")
	c.load(`schedule: "0 * * * *"`)
	c.advance(35 * time.Minute)
	c.patch(`"schedule": "*/10 * * * *"`)
	c.advance(10 * time.Minute)
	require.Equal(t, []string{"2026-01-01T00:40:00Z at 00:40:00.1"}, c.starts)
	cj, err := c.Cluster().Get(context.Background(), cronJobKind, types.NamespacedName{Namespace: "default", Name: "cj"})
	require.NoError(t, err)
	last, _, _ := unstructured.NestedString(cj.Object, "status", "lastScheduleTime")
	require.Equal(t, "2026-01-01T00:40:00Z", last)
}
