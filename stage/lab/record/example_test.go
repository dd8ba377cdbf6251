package record_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

func Example() {
	out := record.NewCSVWriter(os.Stdout)
	recorder := record.New(record.Options{Seed: 1, Sink: out.Write})
	sim, err := simulation.New(stage.MustCompile(presets.NodeFast()), simulation.Options{Seed: 1, Trace: recorder.Trace})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := recorder.Follow(sim, nodes); err != nil {
		fmt.Println(err)
	}
	ctx := context.Background()
	if err := sim.Cluster().Load(ctx, []byte(`{apiVersion: v1, kind: Node, metadata: {name: node-1, uid: u1}, status: {allocatable: {cpu: 500m}}}`)); err != nil {
		fmt.Println(err)
	}
	if err := sim.Advance(ctx, time.Minute); err != nil {
		fmt.Println(err)
	}
	if err := out.Flush(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ns,kind,namespace,name,uid,from,stage,to,seed,owner,node,amounts
	// 1136214245000000000,Node,,node-1,84fe335c-d9e9-4bbb-bb7a-de2da452356d,,,NotReady,,,,cpu=0.5
	// 1136214245000000000,Node,,node-1,84fe335c-d9e9-4bbb-bb7a-de2da452356d,NotReady,node-initialize,Ready,1/Node//node-1/0/node-initialize,,,
}
