// Readiness reports whether objects are ready. It reads them from files or from the output of
// kubectl, and does not connect to a cluster.
//
//	kubectl get deployments,pods -o yaml | go run ./examples/readiness
//	go run ./examples/readiness -explain web.yaml
//	go run ./examples/readiness -profile standard web.yaml
//	go run ./examples/readiness -honor-no-wait web.yaml
//	go run ./examples/readiness -o json web.yaml db.yaml
//	kubectl get ovens --watch -o yaml | go run ./examples/readiness -audit crd.yaml -
//	kubectl get deployments,replicasets,pods --watch -o json | go run ./examples/readiness -wait -basis convention web.yaml
//
// The exit code is 0 if all objects are Current, and 1 if an object is not. It is 2 if the flags or
// the input are wrong, or if the input has no object. The program also prints the status of the
// sound objects of a faulty input. If the input has the children of an object, such as the Pods of
// a Deployment, they also count.
//
// With -wait it shows the progress of the objects in the files, from the output of kubectl. At the
// end it names the object that holds up the wait.
//
// This file shows how to use package kstatus. The other files have the rest of the command: text.go
// reads YAML and JSON, read.go reads the objects in them, and reader.go finds an object among these.
// print.go prints the result, wait.go waits, feed.go reads the output of kubectl, and audit.go
// judges kinds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main without global state. It returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	objects, faults := readAll(o.files, stdin)
	switch {
	case faults == nil && o.wait:
		return o.waitFor(objects, stdin, stdout, stderr)
	case faults == nil && o.audit:
		return auditAll(objects, stdout, stderr)
	}
	verdicts := o.judge(objects)
	if len(objects) > 0 {
		faults = errors.Join(faults, o.print(stdout, verdicts))
	}
	switch {
	case faults != nil:
		fmt.Fprintln(stderr, "readiness:", strings.ReplaceAll(faults.Error(), "\n", "\nreadiness: "))
		return 2
	case slices.ContainsFunc(verdicts, func(v verdict) bool { return v.Status != kstatus.Current }):
		return 1
	}
	return 0
}

// A verdict is a result with its object, its explanation and the children that count.
type verdict struct {
	kstatus.Result
	obj      *unstructured.Unstructured
	explain  kstatus.Explanation
	children []kstatus.Child
}

// judge computes the status of each object, with the others as possible children.
func (o options) judge(objects []*unstructured.Unstructured) []verdict {
	rules, now := profiles[o.profile].HonorNoWait(o.noWait), time.Now()
	var verdicts []verdict
	for _, obj := range objects {
		// The error says which look-ups failed; here, that a child is not in the input.
		result, children, _ := rules.Inspect(context.Background(), fileReader(objects), obj, now)
		verdicts = append(verdicts, verdict{
			Result: result, obj: obj, explain: rules.Explain(obj, now), children: children,
		})
	}
	return verdicts
}
