package controllers

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/cron"
	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// CronJobs returns the controller that makes Jobs by a schedule. It does nothing for a schedule or time zone that it cannot read.
func CronJobs() reconcile.Controller {
	return reconcile.Controller{Name: "cronjob", For: cronJobs, Watches: []reconcile.Watch{{Kind: jobs}}, Reconcile: on(cronJobs, reconcileCronJob)}
}

const scheduledKey = "batch.kubernetes.io/cronjob-scheduled-timestamp"

// macros are names for schedules.
var macros = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// A timetable is the schedule of a CronJob in its time zone.
type timetable struct {
	cron.Schedule
	zone *time.Location
}

func readTimetable(cj *unstructured.Unstructured) (timetable, error) {
	zone, err := time.LoadLocation(cmp.Or(text(cj.Object, "spec", "timeZone"), "UTC"))
	if err != nil {
		return timetable{}, err
	}
	expression := text(cj.Object, "spec", "schedule")
	if macro, ok := macros[expression]; ok {
		expression = macro
	}
	s, err := cron.Parse(strings.ReplaceAll(expression, "?", "*"))
	return timetable{s, zone}, err
}

// next is the first time after t, zero if there is none.
func (t timetable) next(after time.Time) time.Time {
	for at := range t.After(after, t.zone) {
		return at
	}
	return time.Time{}
}

// missed is the latest time that has come since a moment, zero if none has.
func (t timetable) missed(since, now time.Time) (latest time.Time) {
	for at := range t.After(since, t.zone) {
		if at.After(now) {
			break
		}
		latest = at
	}
	return latest
}

// A cronRun is one look at a CronJob.
type cronRun struct {
	call
	owner       *unstructured.Unstructured
	jobs        []*unstructured.Unstructured
	active      []any // references to the Jobs that run
	last        string
	lastSuccess string
}

func reconcileCronJob(c call, cj *unstructured.Unstructured) (reconcile.Result, error) {
	r := &cronRun{
		call: c, owner: cj, jobs: c.Cache.Owned(jobs, cj.GetUID()),
		last: text(cj.Object, "status", "lastScheduleTime"), lastSuccess: text(cj.Object, "status", "lastSuccessfulTime"),
	}
	r.look()
	after, failed := r.act()
	if err := r.dropHistory(); failed == nil {
		failed = err
	}
	return reconcile.Result{After: after}, errors.Join(failed, r.writeStatus(cj, r.status()))
}

// look finds out which Jobs run, in the order in which they were started, and when one last succeeded.
func (r *cronRun) look() {
	running := map[string]*unstructured.Unstructured{}
	for _, job := range r.jobs {
		if end := conditionsOf(job).finished(); end == nil {
			running[string(job.GetUID())] = job
		} else if at := text(job.Object, "status", "completionTime"); end.field("type") == "Complete" && at > r.lastSuccess {
			r.lastSuccess = at
		}
	}
	for _, v := range list(r.owner.Object, "status", "active") {
		ref, _ := object.ToMap(v)
		if job := running[text(ref, "uid")]; job != nil {
			r.active = append(r.active, reference(job))
		}
	}
}

func reference(obj *unstructured.Unstructured) map[string]any {
	return map[string]any{
		"apiVersion": obj.GetAPIVersion(), "kind": obj.GetKind(), "namespace": obj.GetNamespace(), "name": obj.GetName(),
		"uid": string(obj.GetUID()), "resourceVersion": obj.GetResourceVersion(),
	}
}

// act starts a Job if its time has come, and says when to look again.
func (r *cronRun) act() (time.Duration, error) {
	table, err := readTimetable(r.owner)
	if err != nil || isTerminating(r.owner) || flag(r.owner.Object, "spec", "suspend") {
		return 0, nil
	}
	at := table.missed(r.since(), r.Now)
	if r.isDue(at) {
		err = r.run(at, table.zone)
	}
	next := table.next(r.Now)
	if next.IsZero() || err != nil {
		return 0, err
	}
	return next.Sub(r.Now), nil
}

// since is the time from which on schedules may have been missed.
func (r *cronRun) since() time.Time {
	since, ok := timeAt(map[string]any{"last": r.last}, "last")
	if !ok {
		since = r.owner.GetCreationTimestamp().Time
	}
	if deadline := number(r.owner.Object, -1, "spec", "startingDeadlineSeconds"); deadline >= 0 {
		if earliest := r.Now.Add(-seconds(deadline)); earliest.After(since) {
			return earliest
		}
	}
	return since
}

func (r *cronRun) isDue(at time.Time) bool {
	forbidden := text(r.owner.Object, "spec", "concurrencyPolicy") == "Forbid" && len(r.active) > 0
	return !at.IsZero() && stamp(at) != r.last && !forbidden
}

// run makes the Job of a time. With the policy Replace, those that run are deleted.
func (r *cronRun) run(at time.Time, zone *time.Location) error {
	if text(r.owner.Object, "spec", "concurrencyPolicy") == "Replace" {
		for _, job := range r.jobs {
			if conditionsOf(job).finished() != nil {
				continue
			}
			if err := r.delete(job); err != nil {
				return err
			}
		}
		r.active = nil
	}
	job := r.newJob(at, zone)
	created, err := r.create(job)
	if apierrors.IsAlreadyExists(err) {
		created, err = r.Cache.Get(jobs, nameOf(job)), nil
	}
	if err != nil || created == nil {
		return err
	}
	r.active = append(r.active, reference(created))
	r.last = stamp(at)
	return nil
}

func (r *cronRun) newJob(at time.Time, zone *time.Location) *unstructured.Unstructured {
	template := tree(r.owner.Object, "spec", "jobTemplate")
	job := newObject(jobs, r.owner.GetNamespace(), fmt.Sprintf("%s-%d", r.owner.GetName(), at.Unix()/60))
	metadata := job.Object["metadata"].(map[string]any)
	if labels := tree(template, "metadata", "labels"); len(labels) > 0 {
		metadata["labels"] = maps.Clone(labels)
	}
	annotations := maps.Clone(tree(template, "metadata", "annotations"))
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations[scheduledKey] = at.In(zone).Format(time.RFC3339)
	metadata["annotations"] = annotations
	metadata["ownerReferences"] = []any{controllerRef(r.owner)}
	job.Object["spec"] = object.CopyMap(tree(template, "spec"))
	return job
}

// dropHistory deletes the oldest Jobs that have ended, except for the latest few that succeeded and failed.
func (r *cronRun) dropHistory() error {
	return errors.Join(
		r.dropEnded("Complete", number(r.owner.Object, 3, "spec", "successfulJobsHistoryLimit")),
		r.dropEnded("Failed", number(r.owner.Object, 1, "spec", "failedJobsHistoryLimit")),
	)
}

func (r *cronRun) dropEnded(how string, limit int64) error {
	ended := keep(r.jobs, func(job *unstructured.Unstructured) bool { return conditionsOf(job).finished().field("type") == how })
	slices.SortStableFunc(ended, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(text(a.Object, "status", "startTime"), text(b.Object, "status", "startTime")), byAge(a, b))
	})
	return r.deleteAll(beyond(ended, limit))
}

func (r *cronRun) status() counts {
	status := counts{}
	if len(r.active) > 0 {
		status["active"] = r.active
	}
	if r.last != "" {
		status["lastScheduleTime"] = r.last
	}
	if r.lastSuccess != "" {
		status["lastSuccessfulTime"] = r.lastSuccess
	}
	return status
}
