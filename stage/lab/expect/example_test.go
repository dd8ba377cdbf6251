package expect_test

import (
	"fmt"
	"strings"

	"github.com/stagecraft-go/stagecraft/stage/lab/expect"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
)

// A printer prints why a test fails. Tests pass a *testing.T instead.
type printer struct{}

func (printer) Helper() {}

func (printer) Fatalf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// Two Pods wait for a Node, one for 1 s and one for 5 s.
func ExampleRequire() {
	log, err := record.Collect(record.ReadJSONL("cluster.jsonl", strings.NewReader(`
{"ns":60000000000,"kind":"Pod","namespace":"default","name":"a","uid":"1","to":"Pending"}
{"ns":60000000000,"kind":"Pod","namespace":"default","name":"b","uid":"2","to":"Pending"}
{"ns":61000000000,"kind":"Pod","namespace":"default","name":"a","uid":"1","from":"Pending","to":"Scheduled","node":"node-1"}
{"ns":65000000000,"kind":"Pod","namespace":"default","name":"b","uid":"2","from":"Pending","to":"Scheduled","node":"node-1"}
`)))
	if err != nil {
		panic(err)
	}
	expect.Require(printer{}, log,
		"mean(scheduling latency) == 3s",
		"p99(scheduling latency) < 2s",
	)
	// Output:
	// p99(scheduling latency) < 2s: p99(scheduling latency) is 5s
}
