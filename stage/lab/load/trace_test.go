package load_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/load"
)

var columns = load.Columns{Numbers: []string{"size", "gpus"}}

func TestTracesAreRead(t *testing.T) {
	want := []load.Row{
		{At: 1500 * time.Millisecond, Numbers: map[string]float64{"size": 60, "gpus": 8}, Text: map[string]string{"user": "b,c"}, Line: 3},
		{At: time.Minute, Numbers: map[string]float64{"size": 0.25, "gpus": 2}, Text: map[string]string{"user": "a"}, Line: 2},
	}
	rows, err := load.ReadCSV("jobs.csv", strings.NewReader("user,gpus,size,at\na,2,0.25,1m\n\"b,c\",8,1m0s,1.5\n"), columns)
	require.NoError(t, err)
	require.Equal(t, want, rows)
	rows, err = load.ReadJSONL("jobs.jsonl", strings.NewReader(`
{"user": "a", "gpus": 2, "size": "250ms", "at": 60, "pool": null}
{"at": 1.5, "user": "b,c", "gpus": 8, "size": 60}`), columns)
	require.NoError(t, err)
	require.Equal(t, want, rows)
	require.Equal(t, []time.Duration{1500 * time.Millisecond, time.Minute}, load.Arrivals(rows))
	require.Equal(t, load.Values{60, 0.25}, load.Column(rows, "size"))
}

func TestDatesCountFromTheEarliest(t *testing.T) {
	rows, err := load.ReadCSV("t", strings.NewReader("at\n2026-01-01T00:00:02.000000003Z\n2026-01-01T01:00:00+01:00\n"), load.Columns{})
	require.NoError(t, err)
	require.Equal(t, []time.Duration{0, 2*time.Second + 3}, load.Arrivals(rows))
	rows, err = load.ReadCSV("t", strings.NewReader("unix\n1700000060.5\n1700000000\n"), load.Columns{At: "unix", Relative: true})
	require.NoError(t, err)
	require.Equal(t, []time.Duration{0, 60500 * time.Millisecond}, load.Arrivals(rows))
	rows, err = load.ReadJSONL("t", strings.NewReader("\n"), load.Columns{})
	require.NoError(t, err)
	require.Empty(t, rows)
}

func TestFaultsOfTracesHaveTheirPlace(t *testing.T) {
	for name, tc := range map[string]struct{ csv, jsonl, want string }{
		"csv rows": {
			csv: "at,size,gpus\nsoon,1,2\n1,,NaN\n1,2\n2026-01-01T00:00:00Z,1,1\n5,1,1\n2026-01-01T00:00:00Z,1,1\n",
			want: `jobs:2: column "at": "soon" is no number of seconds, no duration and no date
jobs:3: column "size": is missing
jobs:3: column "gpus": "NaN" is no finite number and no duration
jobs:4: wrong number of fields
jobs:5: column "at": "2026-01-01T00:00:00Z" is a date, but line 3 has a number of seconds
jobs:7: column "at": "2026-01-01T00:00:00Z" is a date, but line 3 has a number of seconds`,
		},
		"csv header": {csv: "at,size,size\n", want: "jobs:1: column \"size\": stands there twice\njobs:1: column \"gpus\": is missing"},
		"csv empty":  {csv: "", want: "jobs:1: want a first line with the names of the columns"},
		"csv quotes": {csv: "at,size,gpus\n\"1,2,3\n", want: `jobs:2: extraneous or missing " in quoted-field`},
		"csv past":   {csv: "at,size,gpus\n-1,1,1\n1e300,1,1\n", want: `jobs:3: column "at": "1e300" is too many seconds`},
		"csv before": {csv: "at,size,gpus\n-1,1,1\n", want: `jobs:2: column "at": want a time within 285 years from the start of the trace`},
		"jsonl rows": {
			jsonl: "{\"at\": [1], \"b\": {}}\nnull\n{\"at\": true, \"size\": 1, \"gpus\": 1}\n{",
			want: `jobs:1: column "at": want a number, text or a boolean
jobs:1: column "b": want a number, text or a boolean
jobs:2: want a JSON object, not null
jobs:3: column "at": "true" is no number of seconds, no duration and no date
jobs:4: unexpected end of JSON input`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			read, text := load.ReadCSV, tc.csv
			if tc.jsonl != "" {
				read, text = load.ReadJSONL, tc.jsonl
			}
			rows, err := read("jobs", strings.NewReader(text), columns)
			require.Nil(t, rows)
			require.EqualError(t, err, tc.want)
			fault := new(load.TraceError)
			require.ErrorAs(t, err, &fault)
			require.Equal(t, "jobs", fault.File)
		})
	}
}
