package labtest_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// A program implements the part of a test that a Lab needs. Tests pass a *testing.T instead.
type program struct{}

func (program) Helper() {}

func (program) Fatalf(format string, args ...any) {
	fmt.Printf(format+"\n", args...)
	os.Exit(1)
}

// A Pod of a Deployment crashes, and is made ready again.
func ExampleLab() {
	lab := labtest.New(program{}, labtest.Options{})
	lab.Apply(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web}]}
`)
	lab.WaitCurrent()
	show := func() {
		r := kstatus.Compute(lab.Get("apps/v1", "Deployment", "web"))
		fmt.Println(r.Status, r.Message())
	}
	show()
	pod := lab.List("v1", "Pod", "app=web")[0]
	lab.Drive(pod, kstatustest.CrashLoopBackOff)
	lab.Advance(time.Minute)
	show()
	lab.Drive(pod, labtest.Ready)
	lab.Settle()
	show()
	// Output:
	// Current Deployment is available. Replicas: 1
	// InProgress Available: 0/1
	// Current Deployment is available. Replicas: 1
}

// A database answers its operator's commands. The Pod echoes a line and then runs.
func ExampleLab_Exec() {
	exec := func(_ context.Context, c containers.Container, command containers.Command) (int, error) {
		if command.Argv[0] != "redis-cli" {
			return 127, nil
		}
		_, err := fmt.Fprintln(command.Stdout, "PONG from", c.Pod.GetName())
		return 0, err
	}
	lab := labtest.New(program{}, labtest.Options{Containers: containers.Options{Exec: exec}})
	lab.Apply(`
apiVersion: v1
kind: Pod
metadata: {name: db-0}
spec: {containers: [{name: db, image: redis, command: [sh, -c, "echo starting; sleep 3600"]}]}
`)
	lab.WaitCurrent()
	result, err := lab.Exec("db-0", "", "redis-cli", "ping")
	fmt.Print(result.Stdout, "code ", result.Code, ", error ", err, "\n")
	log, err := lab.Logs("db-0", containers.LogOptions{})
	fmt.Print(log, "error ", err, "\n")
	// Output:
	// PONG from db-0
	// code 0, error <nil>
	// starting
	// error <nil>
}
