// Readiness prints the status of the objects in files, in the form of kubectl get -o yaml, and which field
// decided it.
//
//	go run ./examples/readiness examples/readiness/testdata/web.yaml
//
// The exit code is 1 if an object is not Current. The command stagecraft ready can do more: it also reads the
// objects of a cluster, waits for them and explains.
package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/stage"
)

func main() {
	ready, err := show(os.Stdout, os.Args[1:], time.Now())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err != nil || !ready {
		os.Exit(1)
	}
}

// show prints a line for each object, and reports whether all of them are Current.
func show(w io.Writer, files []string, now time.Time) (ready bool, err error) {
	source, err := stage.Load(files...) // it reads objects of any kind
	if err != nil {
		return false, err
	}
	if faults := source.Errors(); len(faults) > 0 {
		return false, faults
	}
	ready, rules := true, kstatus.Extended()
	for _, obj := range source.OtherObjects() {
		result := rules.Compute(obj, now) // of the object alone; Rules.Inspect also reads children, such as the Pods of a Deployment
		fmt.Fprintf(w, "%s %s: %s (by %s)\n", obj.GetKind(), obj.GetName(), result, result.Basis)
		ready = ready && result.Status == kstatus.Current
	}
	return ready, nil
}
