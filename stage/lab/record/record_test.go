package record_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

var (
	pods  = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	nodes = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	jobs  = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
)

const manifests = `{apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: work}, spec: {template: {spec: {restartPolicy: Never,
  containers: [{name: c, image: i, resources: {requests: {cpu: 500m}}}]}}}}
`

// run records a Job on a node that goes away at the end.
func run(t testing.TB, seed uint64, sink func(record.Record) error) {
	recorder := record.New(record.Options{Seed: seed, Sink: sink})
	sim, err := simulation.New(stage.MustCompile(presets.PodGeneral(), presets.NodeFast()), simulation.Options{
		Seed: seed, Trace: recorder.Trace, Controllers: controllers.All(controllers.Options{}), Filter: controllers.Bound,
	})
	require.NoError(t, err)
	require.NoError(t, recorder.Follow(sim, nodes, jobs, pods))
	require.NoError(t, sim.Cluster().Load(t.Context(), []byte(manifests)))
	require.NoError(t, sim.Advance(t.Context(), time.Hour))
	require.NoError(t, sim.Cluster().Delete(t.Context(), nodes, types.NamespacedName{Name: "node-1"}, metav1.DeleteOptions{}))
	require.NoError(t, sim.Advance(t.Context(), time.Hour))
}

func TestARunIsRecorded(t *testing.T) {
	var log record.Log
	run(t, 1, log.Append)
	var lines []string
	for _, r := range log {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", r.Time.Format("05.000"), r, r.Node, r.Owner, r.Amounts)))
	}
	require.Equal(t, []string{
		"05.000 Node node-1 → NotReady   cpu=4;memory=8.589934592e+09;pods=10",
		"05.000 Job.batch default/work → Pending",
		"05.000 Node node-1 NotReady → Ready by node-initialize",
		"05.000 Pod default/work-nfxnb → Pending  Job.batch/work cpu=0.5",
		"05.000 Job.batch default/work Pending → Running",
		"05.000 Pod default/work-nfxnb Pending → Scheduled node-1 Job.batch/work",
		"08.990 Pod default/work-nfxnb Scheduled → Scheduled by pod-create node-1 Job.batch/work",
		"11.652 Pod default/work-nfxnb Scheduled → Ready by pod-ready node-1 Job.batch/work",
		"16.358 Pod default/work-nfxnb Ready → Succeeded by pod-complete node-1 Job.batch/work",
		"16.358 Job.batch default/work Running → Complete",
		"05.000 Node node-1 Ready → Deleted",
		"45.000 Pod default/work-nfxnb Succeeded → Deleted node-1 Job.batch/work",
	}, lines)
	require.Equal(t, "1/Node//node-1/0/node-initialize", log[2].Seed)
	require.Equal(t, "1/Pod/default/work-nfxnb/2/pod-complete", log[8].Seed)
}

// files are the same run in both formats.
func files(t testing.TB, seed uint64) (jsonl, csv string) {
	var a, b bytes.Buffer
	outJSON, outCSV := record.NewJSONLWriter(&a), record.NewCSVWriter(&b)
	run(t, seed, func(r record.Record) error { return errors.Join(outJSON.Write(r), outCSV.Write(r)) })
	require.NoError(t, errors.Join(outJSON.Flush(), outCSV.Flush()))
	return a.String(), b.String()
}

func TestTheSameSeedGivesTheSameBytes(t *testing.T) {
	jsonl, csv := files(t, 7)
	againJSONL, againCSV := files(t, 7)
	require.Equal(t, jsonl, againJSONL)
	require.Equal(t, csv, againCSV)
	other, _ := files(t, 8)
	require.NotEqual(t, jsonl, other)
}

func TestLogsAreReadAsTheyWereWritten(t *testing.T) {
	var log record.Log
	run(t, 1, log.Append)
	jsonl, csv := files(t, 1)
	require.Contains(t, jsonl, `{"ns":1136214245000000000,"kind":"Node","name":"node-1","uid":`)
	require.Contains(t, csv, "ns,kind,namespace,name,uid,from,stage,to,seed,owner,node,amounts\n1136214245000000000,Node,,node-1,")
	got, err := record.Collect(record.ReadJSONL("log", strings.NewReader("\n"+jsonl)))
	require.NoError(t, err)
	require.Equal(t, log, got)
	got, err = record.Collect(record.ReadCSV("log", strings.NewReader(csv)))
	require.NoError(t, err)
	require.Equal(t, log, got)
	for range record.ReadJSONL("log", strings.NewReader(jsonl)) {
		break // readers can stop
	}
	var empty bytes.Buffer
	require.NoError(t, record.NewCSVWriter(&empty).WriteAll(nil))
	got, err = record.Collect(record.ReadCSV("log", &empty))
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestFaultsOfLogsHaveTheirLine(t *testing.T) {
	const header = "ns,kind,name,to,amounts\n"
	for name, tc := range map[string]struct{ jsonl, csv, want string }{
		"json": {
			jsonl: "{\"ns\":1,\"kind\":\"Pod\",\"name\":\"p\",\"to\":\"Running\"}\n{\"ns\":1,\"kind\":\"Pod\",\"name\":\"p\"}\n{}\n" +
				"{\"ns\":1,\"colour\":1}\n{\"ns\":1,\"kind\":\"Pod\",\"name\":\"p\",\"to\":\"a\"} {}\n{\"ns\":\"x\"}\n[",
			want: "log:2: to is missing\nlog:3: ns is missing\nlog:4: json: unknown field \"colour\"\nlog:5: want one JSON object in a line\n" +
				"log:6: json: cannot unmarshal string into Go struct field line.ns of type int64\nlog:7: want a JSON object",
		},
		"rows": {
			csv: header + "x,Pod,p,Running,\n1,Pod\n1,Pod,,Running,\n1,Pod,p,Running,cpu\n1,Pod,p,Running,cpu=NaN\n1,Pod,\"p",
			want: "log:2: ns: \"x\" is no whole number\nlog:3: wrong number of fields\nlog:4: name is missing\nlog:5: amounts: \"cpu\" is not like cpu=0.5\n" +
				"log:6: amounts: \"cpu=NaN\" is not like cpu=0.5\nlog:7: extraneous or missing \" in quoted-field",
		},
		"missing":  {csv: "ns,kind,name\n", want: `log:1: column "to" is missing`},
		"twice":    {csv: "ns,ns\n", want: `log:1: column "ns" is not one of ns, kind, namespace, name, uid, from, stage, to, seed, owner, node, amounts, each once`},
		"no lines": {want: "log:1: want a first line with the names of the columns"},
	} {
		t.Run(name, func(t *testing.T) {
			records := record.ReadCSV("log", strings.NewReader(tc.csv))
			if tc.jsonl != "" {
				records = record.ReadJSONL("log", strings.NewReader(tc.jsonl))
			}
			log, err := record.Collect(records)
			require.Nil(t, log)
			require.EqualError(t, err, tc.want)
			fault := new(record.LineError)
			require.ErrorAs(t, err, &fault)
		})
	}
}

// story is a recorder that gets one object after another.
type story struct {
	t        *testing.T
	recorder *record.Recorder
	log      record.Log
	now      time.Time
}

func newStory(t *testing.T, o record.Options) *story {
	s := &story{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	o.Sink = s.log.Append
	s.recorder = record.New(o)
	return s
}

// tell makes the recorder observe an object, and returns its records.
func (s *story) tell(e watch.EventType, text string) (lines []string) {
	s.t.Helper()
	obj := &unstructured.Unstructured{}
	require.NoError(s.t, yaml.Unmarshal([]byte(text), &obj.Object))
	before := len(s.log)
	require.NoError(s.t, s.recorder.Observe(watch.Event{Type: e, Object: obj}, s.now))
	for _, r := range s.log[before:] {
		lines = append(lines, r.String())
	}
	return lines
}

func pod(rest string) string {
	return "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: d, uid: u1}" + rest + "}"
}

func TestWatchEventsAreEnough(t *testing.T) {
	s := newStory(t, record.Options{})
	require.Equal(t, []string{"Pod d/p → Pending"}, s.tell(watch.Added, pod("")))
	require.Empty(t, s.tell(watch.Modified, pod("")))
	require.Equal(t, []string{"Pod d/p Pending → Scheduled"}, s.tell(watch.Modified, pod(", spec: {nodeName: node-1}")))
	require.Equal(t, []string{"Pod d/p Scheduled → Running"}, s.tell(watch.Modified, pod(", spec: {nodeName: node-1}, status: {phase: Running}")))
	require.Equal(t, []string{"Pod d/p Running → Deleted", "Pod d/p → Failed"},
		s.tell(watch.Modified, "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: d, uid: u2}, status: {phase: Failed}}"), "another one of that name")
	require.Equal(t, []string{"Pod d/p Failed → Deleted"}, s.tell(watch.Deleted, "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: d, uid: u2}}"))
	require.Empty(t, s.tell(watch.Deleted, pod("")))
	require.Empty(t, s.tell(watch.Bookmark, pod("")))
	require.NoError(t, s.recorder.Observe(watch.Event{Type: watch.Added, Object: &metav1.Status{}}, s.now))
	require.ErrorContains(t, s.recorder.Observe(watch.Event{Type: watch.Error, Object: &metav1.Status{Message: "too old"}}, s.now), "too old")
}

func TestListsTellWhatTheWatchMissed(t *testing.T) {
	s := newStory(t, record.Options{})
	object := func(kind, name, uid string) unstructured.Unstructured {
		return unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name, "uid": uid},
		}}
	}
	sync := func(all ...unstructured.Unstructured) (lines []string) {
		before := len(s.log)
		require.NoError(t, s.recorder.Sync(pods, all, s.now))
		for _, r := range s.log[before:] {
			lines = append(lines, r.String())
		}
		return lines
	}
	s.tell(watch.Added, "{apiVersion: v1, kind: Node, metadata: {name: n1}}")
	require.Equal(t, []string{"Pod b → Pending", "Pod a → Pending", "Pod c → Pending"}, sync(object("Pod", "b", "1"), object("Pod", "a", "2"), object("Pod", "c", "3")))
	require.Empty(t, sync(object("Pod", "b", "1"), object("Pod", "a", "2"), object("Pod", "c", "3")))
	require.Equal(t, []string{"Pod a Pending → Deleted", "Pod c Pending → Deleted", "Pod b Pending → Deleted", "Pod b → Pending"}, sync(object("Pod", "b", "4")))
}

func TestChangesAreAttributedToStages(t *testing.T) {
	s := newStory(t, record.Options{WatchDelay: time.Second})
	s.tell(watch.Added, pod(""))
	key := stage.Key{Version: "v1", Kind: "Pod", Namespace: "d", Name: "p"}
	play := func() {
		s.recorder.Trace(stage.TraceEvent{Kind: stage.TracePlayed, Key: key, Stage: "go", N: 3, Time: s.now})
		s.recorder.Trace(stage.TraceEvent{Kind: stage.TraceEffected, Key: key, Stage: "go", Effect: stage.Event{}})
		s.recorder.Trace(stage.TraceEvent{Kind: stage.TraceEffected, Key: key, Stage: "go", Effect: stage.Patch{}, NoOp: true})
		s.recorder.Trace(stage.TraceEvent{Kind: stage.TraceEffected, Key: key, Stage: "go", Effect: stage.Patch{}})
		s.recorder.Trace(stage.TraceEvent{Kind: stage.TraceEffected, Key: key, Stage: "go", Effect: stage.Patch{}})
	}
	play()
	s.now = s.now.Add(time.Second)
	require.Equal(t, []string{"Pod d/p Pending → Pending by go"}, s.tell(watch.Modified, pod("")))
	require.Equal(t, []string{"Pod d/p Pending → Running by go"}, s.tell(watch.Modified, pod(", status: {phase: Running}")))
	require.Equal(t, "0/Pod/d/p/3/go", s.log[2].Seed)
	require.Equal(t, []string{"Pod d/p Running → Failed"}, s.tell(watch.Modified, pod(", status: {phase: Failed}")), "the Stage wrote twice, not three times")
	play()
	s.now = s.now.Add(2 * time.Second)
	require.Equal(t, []string{"Pod d/p Failed → Deleted"}, s.tell(watch.Deleted, pod("")), "too late")
}

func TestStatesOfKinds(t *testing.T) {
	for text, want := range map[string]string{
		`{apiVersion: batch/v1, kind: Job, spec: {suspend: true}, status: {startTime: x}}`:                               "Suspended",
		`{apiVersion: batch/v1, kind: Job, status: {conditions: [{type: Failed, status: "True"}]}}`:                      "Failed",
		`{apiVersion: batch/v1, kind: Job, metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}}`:                       "Terminating",
		`{apiVersion: v1, kind: Node, metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}}`:                            "Terminating",
		`{apiVersion: v1, kind: Pod, metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, status: {phase: Running}}`:   "Terminating",
		`{apiVersion: v1, kind: Pod, metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, status: {phase: Failed}}`:    "Failed",
		`{apiVersion: v1, kind: Pod, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`:             "Ready",
		`{apiVersion: v1, kind: Namespace, status: {phase: Active}}`:                                                     "Active",
		`{apiVersion: v1, kind: Namespace, metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}}`:                       "Terminating",
		`{apiVersion: demo.example.com/v1, kind: Train, status: {conditions: [{type: Ready, status: "True"}]}}`:          "Ready",
		`{apiVersion: demo.example.com/v1, kind: Train, status: {conditions: [{type: Ready, status: Unknown}]}}`:         "NotReady",
		`{apiVersion: demo.example.com/v1, kind: Train, status: {conditions: [{type: Other, status: "True"}, 3, null]}}`: "Present",
	} {
		obj := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(text), &obj.Object))
		require.Equal(t, want, record.StateOf(obj), text)
	}
}

func TestStatesOfOnesOwn(t *testing.T) {
	s := newStory(t, record.Options{States: map[schema.GroupKind]func(*unstructured.Unstructured) string{
		{Group: "demo.example.com", Kind: "Train"}: func(obj *unstructured.Unstructured) string { return "at " + obj.GetLabels()["at"] },
	}})
	require.Equal(t, []string{"Train.demo.example.com t → at home"},
		s.tell(watch.Added, `{apiVersion: demo.example.com/v1, kind: Train, metadata: {name: t, labels: {at: home}}}`))
}

func TestAFailingSinkEndsTheRun(t *testing.T) {
	full := errors.New("disk full")
	recorder := record.New(record.Options{Sink: func(record.Record) error { return full }})
	sim, err := simulation.New(stage.MustCompile(presets.NodeFast()), simulation.Options{})
	require.NoError(t, err)
	require.NoError(t, recorder.Follow(sim, nodes))
	require.Error(t, recorder.Follow(sim, schema.GroupVersionKind{Kind: "Train"}))
	require.NoError(t, sim.Cluster().Load(t.Context(), []byte(manifests)))
	require.ErrorIs(t, sim.Advance(t.Context(), 0), full)
}

// TestLogsThatAreCutOff cuts a log at every byte. What is read is the beginning of the log, and a cut
// within a line is an error with its line, unless only the line break is missing in JSON.
func TestLogsThatAreCutOff(t *testing.T) {
	var log record.Log
	run(t, 1, log.Append)
	jsonl, csv := files(t, 1)
	for name, c := range map[string]struct {
		text   string
		read   func(string, io.Reader) iter.Seq2[record.Record, error]
		before int // lines before the first record
	}{"jsonl": {jsonl, record.ReadJSONL, 0}, "csv": {csv, record.ReadCSV, 1}} {
		for cut := range min(len(c.text), 4000) {
			text := c.text[:cut]
			whole := max(0, strings.Count(text, "\n")-c.before)
			var got record.Log
			var failed error
			for r, err := range c.read("log", strings.NewReader(text)) {
				if err != nil {
					failed = errors.Join(failed, err)
					continue
				}
				got = append(got, r)
			}
			require.Equal(t, fmt.Sprint(log[:len(got)]), fmt.Sprint(got), "%s cut at %d", name, cut)
			switch {
			case cut == 0 || strings.HasSuffix(text, "\n"):
				require.Len(t, got, whole)
			case len(got) == whole:
				var fault *record.LineError
				require.ErrorAs(t, failed, &fault, "%s cut at %d", name, cut)
				require.Equal(t, 1+strings.Count(text, "\n"), fault.Line)
			default:
				require.Equal(t, "jsonl", name)
				require.True(t, strings.HasSuffix(text, "}"))
			}
		}
	}
}
