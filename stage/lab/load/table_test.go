package load_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/load"
)

// Made samples in the layout in which the traces are published; no value is from a trace.
const (
	openbPods = `name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
pod-2,6000,12288,1,460,V100M16|V100M32,LS,Running,60,7200,65
pod-1,12000,16384,0,0,,BE,Pending,0,3600,
`
	openbNodes = "sn,cpu_milli,memory_mib,gpu,model\nnode-1,64000,262144,2,P100\nnode-0,96000,786432,8,\n"
	// Jobs of Philly, an attempt each, as a table.
	philly = `jobid,vc,user,status,submitted_time,start_time,end_time,gpus
application_1,a1,u1,Pass,2017-10-03 11:01:07,2017-10-03 11:02:07,2017-10-03 12:01:07,4
application_2,a1,u2,Killed,2017-10-03 11:00:07,None,None,
`
	// job_events of Borg: no header, microseconds, empty cells, and 2^63-1 for after the trace.
	borg = `600000000,,3418309,0,zTMHWfBtkCnHPdFq,3,job_a,logical_a
600000042,2,3418314,0,,3,job_b,logical_b
9223372036854775807,,3418314,4,,3,job_b,logical_b
`
)

func TestOpenbIsRead(t *testing.T) {
	rows, err := load.ReadCSV("pods.csv", strings.NewReader(openbPods), load.Columns{
		At: "creation_time", Times: []string{"scheduled_time", "deletion_time"},
		Numbers: []string{"cpu_milli", "memory_mib", "num_gpu", "gpu_milli"},
	})
	require.NoError(t, err)
	require.Equal(t, []load.Row{{
		Numbers: map[string]float64{"cpu_milli": 12000, "memory_mib": 16384, "num_gpu": 0, "gpu_milli": 0},
		Times:   map[string]time.Duration{"deletion_time": time.Hour},
		Text:    map[string]string{"name": "pod-1", "qos": "BE", "pod_phase": "Pending"}, Line: 3,
	}, {
		At:      time.Minute,
		Numbers: map[string]float64{"cpu_milli": 6000, "memory_mib": 12288, "num_gpu": 1, "gpu_milli": 460},
		Times:   map[string]time.Duration{"deletion_time": 2 * time.Hour, "scheduled_time": 65 * time.Second},
		Text:    map[string]string{"name": "pod-2", "gpu_spec": "V100M16|V100M32", "qos": "LS", "pod_phase": "Running"}, Line: 2,
	}}, rows)
	nodes, err := load.ReadCSV("nodes.csv", strings.NewReader(openbNodes), load.Columns{Untimed: true, Numbers: []string{"gpu"}})
	require.NoError(t, err)
	require.Len(t, nodes, 2)
	require.Equal(t, load.Values{2, 8}, load.Column(nodes, "gpu"))
	require.Equal(t, "node-1", nodes[0].Text["sn"])
	require.NotContains(t, nodes[1].Text, "model")
}

func TestPhillyIsRead(t *testing.T) {
	columns := load.Columns{
		At: "submitted_time", Times: []string{"start_time", "end_time"}, Layout: time.DateTime,
		Optional: []string{"gpus"}, Null: []string{"None"},
	}
	rows, err := load.ReadCSV("jobs.csv", strings.NewReader(philly), columns)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{0, time.Minute}, load.Arrivals(rows))
	require.Nil(t, rows[0].Times)
	require.Empty(t, rows[0].Numbers)
	require.Equal(t, map[string]time.Duration{"start_time": 2 * time.Minute, "end_time": time.Hour + time.Minute}, rows[1].Times)
	require.Equal(t, map[string]float64{"gpus": 4}, rows[1].Numbers)
	columns.Null = nil
	_, err = load.ReadCSV("jobs.csv", strings.NewReader(philly), columns)
	require.EqualError(t, err, `jobs.csv:3: column "start_time": "None" is no date such as 2006-01-02 15:04:05
jobs.csv:3: column "end_time": "None" is no date such as 2006-01-02 15:04:05`)
}

// phillyJSON has the layout of Philly's cluster_job_log; no value is from there.
const phillyJSON = `[
    {
        "status": "Pass",
        "vc": "a1",
        "jobid": "application_1",
        "attempts": [
            {
                "start_time": "2017-10-03 11:02:07",
                "end_time": "2017-10-03 11:32:07",
                "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}]
            },
            {
                "start_time": "2017-10-03 11:42:07",
                "end_time": "2017-10-03 12:01:07",
                "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}, {"ip": "m2", "gpus": ["gpu5"]}]
            }
        ],
        "submitted_time": "2017-10-03 11:01:07",
        "user": "u1"
    },
    {"status": "Killed", "vc": "a1", "jobid": "application_2", "attempts": [], "submitted_time": "2017-10-03 11:00:07", "user": "u2"}
]
`

func phillyColumns() load.Columns {
	return load.Columns{
		At: "submitted_time", Times: []string{"start", "end"}, Layout: time.DateTime,
		Numbers: []string{"attempts"}, Optional: []string{"gpus"}, Null: []string{"None"},
		Cells: map[string]string{
			"start": ".attempts[0].start_time", "end": ".attempts[-1].end_time", "attempts": ".attempts | length",
			"gpus": "[.attempts[-1].detail[]?.gpus | length] | add",
		},
	}
}

func TestPhillyIsReadAsPublished(t *testing.T) {
	rows, err := load.ReadJSON("cluster_job_log", strings.NewReader(phillyJSON), phillyColumns())
	require.NoError(t, err)
	require.Equal(t, []load.Row{{
		Numbers: map[string]float64{"attempts": 0},
		Text:    map[string]string{"jobid": "application_2", "status": "Killed", "vc": "a1", "user": "u2"}, Line: 21,
	}, {
		At: time.Minute, Numbers: map[string]float64{"attempts": 2, "gpus": 3},
		Times: map[string]time.Duration{"start": 2 * time.Minute, "end": time.Hour + time.Minute},
		Text:  map[string]string{"jobid": "application_1", "status": "Pass", "vc": "a1", "user": "u1"}, Line: 2,
	}}, rows)
}

func TestFaultsOfJSON(t *testing.T) {
	columns := phillyColumns()
	columns.Cells["user"], columns.Cells["late"] = ".attempts[].start_time", ".end_time |"
	_, err := load.ReadJSON("log", strings.NewReader(strings.ReplaceAll(phillyJSON, `"2017-10-03 12:01:07"`, `"noon"`)), columns)
	require.EqualError(t, err, `log:1: column "late": unexpected EOF
log:2: column "user": has 2 values, want one`)
	_, err = load.ReadJSON("log", strings.NewReader(strings.ReplaceAll(phillyJSON, `"2017-10-03 12:01:07"`, `"noon"`)), phillyColumns())
	require.EqualError(t, err, `log:2: column "end": "noon" is no date such as 2006-01-02 15:04:05`)
	for text, want := range map[string]string{
		"":                       `log:1: want a JSON array of objects`,
		"{}":                     `log:1: want a JSON array of objects`,
		"[\n{},\n3]":             `log:2: column "submitted_time": is missing` + "\n" + `log:3: json: cannot unmarshal number into Go value of type map[string]json.RawMessage`,
		"[\n\n{\"a\": 1}":        `log:3: column "submitted_time": is missing` + "\n" + `log:3: EOF`,
		"[] 1":                   `log:1: want nothing behind the array`,
		"[{\"a\":\n[1,\n2}, {}]": `log:3: invalid character '}' after array element`,
	} {
		_, err := load.ReadJSON("log", strings.NewReader(text), load.Columns{At: "submitted_time"})
		require.EqualError(t, err, want, text)
	}
}

func TestBorgIsRead(t *testing.T) {
	columns := load.Columns{
		Header: []string{"time", "missing", "job", "event", "user", "class", "", "logical"},
		At:     "time", Unit: time.Microsecond, Relative: true, Numbers: []string{"event"}, Optional: []string{"missing"},
	}
	_, err := load.ReadCSV("job_events.csv", strings.NewReader(borg), columns)
	require.EqualError(t, err, `job_events.csv:3: column "time": "9223372036854775807" is too many seconds`)
	columns.Null = []string{"9223372036854775807"}
	_, err = load.ReadCSV("job_events.csv", strings.NewReader(borg), columns)
	require.EqualError(t, err, `job_events.csv:3: column "time": is missing`)
	begin := borg[:strings.LastIndex(borg, "9223")]
	rows, err := load.ReadCSV("job_events.csv", strings.NewReader(begin), columns)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{0, 42 * time.Microsecond}, load.Arrivals(rows))
	require.Equal(t, map[string]string{"job": "3418314", "class": "3", "logical": "logical_b"}, rows[1].Text)
	require.Equal(t, 2.0, rows[1].Numbers["missing"])
}

// borg2019 has the layout of rows of collection_events as BigQuery exports them: 64-bit integers are text,
// repeated fields arrays. No value is from there.
const borg2019 = `{"time":"0","type":"SUBMIT","collection_id":"376","scheduling_class":"2","collection_type":"JOB","priority":"200","user":"u1=","max_per_machine":null}
{"time":"600000042","type":"SUBMIT","collection_id":"377","priority":"103","user":"u2=","start_after_collection_ids":["376"]}
{"time":"9223372036854775807","type":"FINISH","collection_id":"377","priority":"103","user":"u2="}
`

func TestBorg2019IsRead(t *testing.T) {
	columns := load.Columns{
		At: "time", Unit: time.Microsecond, Relative: true, Numbers: []string{"priority"}, Optional: []string{"scheduling_class", "after"},
		Cells: map[string]string{"after": ".start_after_collection_ids[0]?"},
	}
	_, err := load.ReadJSONL("events.json", strings.NewReader(borg2019), columns)
	require.EqualError(t, err, `events.json:3: column "time": "9223372036854775807" is too many seconds`)
	rows, err := load.ReadJSONL("events.json", strings.NewReader(borg2019[:strings.LastIndex(borg2019, `{"time":"9223`)]), columns)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{0, 10*time.Minute + 42*time.Microsecond}, load.Arrivals(rows))
	require.Equal(t, map[string]float64{"priority": 200, "scheduling_class": 2}, rows[0].Numbers)
	require.Equal(t, map[string]float64{"priority": 103, "after": 376}, rows[1].Numbers)
	require.Equal(t, "377", rows[1].Text["collection_id"])
}

func TestLinesAreSkipped(t *testing.T) {
	rows, err := load.ReadCSV("t", strings.NewReader("\ufeff# exported\n# twice\n at \n"), load.Columns{Skip: 2, At: " at "})
	require.NoError(t, err)
	require.Empty(t, rows)
	_, err = load.ReadCSV("t", strings.NewReader("# exported\nat\nx\n"), load.Columns{Skip: 1})
	require.EqualError(t, err, `t:3: column "at": "x" is no number of seconds, no duration and no date`)
	_, err = load.ReadCSV("t", strings.NewReader("# exported"), load.Columns{Skip: 1})
	require.EqualError(t, err, "t:1: the file ends before this line, which is to be skipped")
	rows, err = load.ReadJSONL("t", strings.NewReader("exported\n{\"at\": 1}"), load.Columns{Skip: 1})
	require.NoError(t, err)
	require.Equal(t, 2, rows[0].Line)
	_, err = load.ReadCSV("t", strings.NewReader("end\n1\n"), load.Columns{Untimed: true, Times: []string{"end"}})
	require.EqualError(t, err, `t:1: column "end": is a time, and the table is untimed`)
}

func TestFurtherTimesHaveTheForm(t *testing.T) {
	_, err := load.ReadCSV("t", strings.NewReader("at,end\n1,2026-01-01T00:00:00Z\n2,x\n"), load.Columns{Times: []string{"end"}})
	require.EqualError(t, err, `t:2: column "end": "2026-01-01T00:00:00Z" is a date, and that of at is a number of seconds
t:3: column "end": "x" is no number of seconds, no duration and no date`)
}
