package kstatustest

import (
	"fmt"
	"time"
)

var jobTimes = []string{"lastProbeTime"}

// jobDone makes a complete Job, or a suspended one without Pods.
func jobDone(d *draft) {
	if d.bool("spec", "suspend") {
		jobSuspended(d)
		return
	}
	d.jobEnds()
	completions := d.int(1, "spec", "completions")
	d.status["succeeded"], d.status["completionTime"] = max(1, completions), d.now()
	if d.text("spec", "completionMode") == "Indexed" {
		d.status["completedIndexes"] = indexes(completions)
	}
	d.conditions(jobTimes,
		condition{"SuccessCriteriaMet", "True", "CompletionsReached", "Reached expected number of succeeded pods"},
		condition{"Complete", "True", "CompletionsReached", "Reached expected number of succeeded pods"})
}

// jobSuspended makes a Job without startTime: it starts again when it is resumed.
func jobSuspended(d *draft) {
	d.drop("startTime", "completionTime", "active")
	d.status["ready"], d.status["terminating"], d.status["uncountedTerminatedPods"] = int64(0), int64(0), map[string]any{}
	d.conditions(jobTimes, condition{"Suspended", "True", "JobSuspended", "Job suspended"})
}

func jobFailed(d *draft) {
	d.jobEnds()
	d.drop("completionTime")
	d.status["failed"] = d.int(6, "spec", "backoffLimit") + 1
	message := d.message("Job has reached the specified backoff limit")
	d.conditions(jobTimes,
		condition{"FailureTarget", "True", "BackoffLimitExceeded", message},
		condition{"Failed", "True", "BackoffLimitExceeded", message})
}

// jobEnds writes the fields of every Job that has ended: an API server accepts an end only after a
// start, and without active Pods.
func (d *draft) jobEnds() {
	d.keep("startTime", d.now())
	d.drop("active")
	d.status["ready"], d.status["terminating"], d.status["uncountedTerminatedPods"] = int64(0), int64(0), map[string]any{}
}

// indexes returns 0 to n-1 in the form of completedIndexes.
func indexes(n int64) string {
	switch {
	case n <= 1:
		return "0"
	case n == 2:
		return "0,1"
	}
	return fmt.Sprintf("0-%d", n-1)
}

func cronSucceeded(d *draft) {
	d.status["lastScheduleTime"], d.status["lastSuccessfulTime"] = d.now(), d.now()
	d.drop("active")
}

func cronFailed(d *draft) {
	d.status["lastScheduleTime"] = d.now()
	d.status["lastSuccessfulTime"] = d.time.Add(-24 * time.Hour).UTC().Format(time.RFC3339)
	d.drop("active")
}
