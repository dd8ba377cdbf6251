package batch

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/robfig/cron/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/lists"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// CronJobs returns the controller that creates Jobs by a schedule. A CronJob whose schedule or time
// zone cannot be read is left alone.
//
// The controller keeps state. Create a separate controller for each loop.
func CronJobs() reconcile.Controller {
	t := cronTimes{}
	return reconcile.Controller{
		Name: cronName, Component: "cronjob-controller", For: kinds.CronJob, When: t.onChange, Watches: []reconcile.Watch{{Kind: kinds.Job}},
		Reconcile: control.OnExisting(kinds.CronJob, func(c control.Call, cj *unstructured.Unstructured) (reconcile.Result, error) {
			return reconcileCronJob(c, cj, t)
		}),
	}
}

const cronName = "cronjob" // of the controller

// cronDelay is how long after the time of a schedule a CronJob is looked at, for clocks that differ.
const cronDelay = 100 * time.Millisecond

// cronTimes are the times of the next look at each CronJob, by name. After a change of the
// schedule, the next look is at the next time of the new schedule or, if that is sooner, of the old
// one.
type cronTimes map[types.NamespacedName]*cronTime

type cronTime struct {
	due         time.Time // zero: look only when something happens
	rescheduled bool
}

func (t cronTimes) of(name types.NamespacedName) *cronTime {
	if t[name] == nil {
		t[name] = &cronTime{}
	}
	return t[name]
}

func (t cronTimes) onChange(ch reconcile.Change) bool {
	name := control.NameOf(ch.Object())
	switch {
	case ch.New == nil || ch.Old == nil || ch.New.GetUID() != ch.Old.GetUID():
		delete(t, name)
	case scheduleText(ch.New) != scheduleText(ch.Old):
		t.of(name).rescheduled = true
	default:
		t.of(name).rescheduled = false
	}
	return ch.By != cronName || ch.Old == nil || fields.Value(ch.Old.Object, "status") != nil // an API server creates it with an empty status
}

func scheduleText(cj *unstructured.Unstructured) string {
	return fields.String(cj.Object, "spec", "timeZone") + " " + fields.String(cj.Object, "spec", "schedule")
}

const scheduledKey = "batch.kubernetes.io/cronjob-scheduled-timestamp"

// A cronRun is one reconcile of a CronJob.
type cronRun struct {
	control.Call
	time               *cronTime
	owner              *unstructured.Unstructured
	jobs               []*unstructured.Unstructured
	deleted            map[types.UID]bool // of Jobs that were deleted now
	active             []any              // references to the Jobs that run
	lastScheduleTime   string
	lastSuccessfulTime string
}

func reconcileCronJob(c control.Call, cj *unstructured.Unstructured, t cronTimes) (reconcile.Result, error) {
	r := &cronRun{
		Call: c, time: t.of(c.Name), owner: cj, deleted: map[types.UID]bool{}, jobs: c.Cache.Owned(kinds.Job, cj.GetUID()),
		lastScheduleTime:   fields.String(cj.Object, "status", "lastScheduleTime"),
		lastSuccessfulTime: fields.String(cj.Object, "status", "lastSuccessfulTime"),
	}
	failed := r.cleanupFinished()
	r.updateActive()
	after, err := r.act()
	return reconcile.Result{After: after}, errors.Join(cmp.Or(err, failed), r.WriteStatus(cj, r.status()))
}

// updateActive finds the running Jobs, in the order of their starts, and the time of the last
// success.
func (r *cronRun) updateActive() {
	running := map[string]*unstructured.Unstructured{}
	for _, job := range r.jobs {
		if end := finishedCondition(conditions.Of(job)); end == nil {
			running[string(job.GetUID())] = job
		} else if at := fields.String(job.Object, "status", "completionTime"); end.Field("type") == "Complete" && at > r.lastSuccessfulTime {
			r.lastSuccessfulTime = at
		}
	}
	for _, v := range fields.Slice(r.owner.Object, "status", "active") {
		ref, _ := object.ToMap(v)
		uid := fields.String(ref, "uid")
		if job := running[uid]; job != nil {
			r.active = append(r.active, ref)
			delete(running, uid)
			continue
		}
		r.recordInactive(uid, fields.String(ref, "name"))
	}
	for _, job := range r.jobs {
		if running[string(job.GetUID())] != nil {
			r.warn("UnexpectedJob", "Saw a job that the controller did not create or forgot: %s", job.GetName())
		}
	}
}

// recordInactive records why a Job no longer runs: it has ended, or is gone.
func (r *cronRun) recordInactive(uid, name string) {
	for _, job := range r.jobs {
		if string(job.GetUID()) == uid {
			if r.deleted[job.GetUID()] {
				return
			}
			r.note("SawCompletedJob", "Saw completed job: %s, condition: %s", name, finishedCondition(conditions.Of(job)).Field("type"))
			return
		}
	}
	r.note("MissingJob", "Active job went missing: %s", name)
}

func reference(obj *unstructured.Unstructured) map[string]any {
	return map[string]any{
		"apiVersion": obj.GetAPIVersion(), "kind": obj.GetKind(), "namespace": obj.GetNamespace(), "name": obj.GetName(),
		"uid": string(obj.GetUID()), "resourceVersion": obj.GetResourceVersion(),
	}
}

// act starts a Job if one is due, and returns the time until the next one.
func (r *cronRun) act() (time.Duration, error) {
	if fields.IsTerminating(r.owner) {
		return 0, nil
	}
	zone, err := zoneOf(r.owner)
	if err != nil {
		r.warn("UnknownTimeZone", "invalid timeZone: %q: %s", fields.String(r.owner.Object, "spec", "timeZone"), err)
		return 0, nil
	}
	if fields.Bool(r.owner.Object, "spec", "suspend") {
		return 0, nil
	}
	s, err := readSchedule(r.owner)
	if err != nil {
		r.warn("UnparseableSchedule", "unparseable schedule: %q : %s", fields.String(r.owner.Object, "spec", "schedule"), err)
		return 0, nil
	}
	if r.time.rescheduled {
		r.time.rescheduled = false
		return r.wait(r.next(s)), nil
	}
	m, err := missedSince(s, r.since(), r.Now)
	if err != nil {
		r.warn("InvalidSchedule", "invalid schedule: %s : %s", fields.String(r.owner.Object, "spec", "schedule"), err)
		return 0, nil
	}
	if m.count > manyMissed && !m.latest.IsZero() {
		r.warn("TooManyMissedTimes", "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew")
	}
	if r.isDue(m.latest) {
		if err := r.startJob(m.latest, zone); err != nil {
			return 0, err
		}
	}
	r.time.due = time.Time{}
	return r.wait(r.next(s)), nil
}

func (r *cronRun) warn(reason, format string, args ...any) {
	r.Record(r.owner, "Warning", reason, fmt.Sprintf(format, args...))
}

func (r *cronRun) note(reason, format string, args ...any) {
	r.Record(r.owner, "Normal", reason, fmt.Sprintf(format, args...))
}

// next returns when to look again: a little after the next time of a schedule, or zero without a
// next time.
func (r *cronRun) next(s cron.Schedule) time.Time {
	from := r.Now
	if m, err := missedSince(s, r.lastOrCreated(), r.Now); err == nil && !m.latest.IsZero() {
		from = m.latest
	} else if err == nil && m.count == 0 {
		from = m.earliest
	}
	if at := s.Next(from); !at.IsZero() {
		return at.Add(cronDelay)
	}
	return time.Time{}
}

// wait returns the time until then, or until earlier work is due.
func (r *cronRun) wait(at time.Time) time.Duration {
	if at.IsZero() {
		return 0
	}
	if r.time.due.IsZero() || at.Before(r.time.due) || !r.time.due.After(r.Now) {
		r.time.due = at
	}
	return max(time.Nanosecond, r.time.due.Sub(r.Now))
}

func (r *cronRun) lastOrCreated() time.Time {
	if last, err := time.Parse(time.RFC3339, r.lastScheduleTime); err == nil {
		return last
	}
	return r.owner.GetCreationTimestamp().UTC()
}

// since returns the time after which a schedule may have been missed.
func (r *cronRun) since() time.Time {
	since := r.lastOrCreated()
	if deadline := fields.Int64(r.owner.Object, -1, "spec", "startingDeadlineSeconds"); deadline >= 0 {
		if earliest := r.Now.Add(-fields.Seconds(deadline)); earliest.After(since) {
			return earliest
		}
	}
	return since
}

// isDue reports whether the controller must start a Job for a time of the schedule.
func (r *cronRun) isDue(at time.Time) bool {
	if at.IsZero() {
		return false
	}
	if deadline := fields.Int64(r.owner.Object, -1, "spec", "startingDeadlineSeconds"); deadline >= 0 && at.Add(fields.Seconds(deadline)).Before(r.Now) {
		r.warn("MissSchedule", "Missed scheduled time to start a job: %s", at.UTC().Format(time.RFC1123Z))
		return false
	}
	isActive := slices.ContainsFunc(r.active, func(v any) bool {
		ref, _ := object.ToMap(v)
		return fields.String(ref, "name") == r.jobName(at)
	})
	if isActive || fields.FormatTime(at) == r.lastScheduleTime {
		return false
	}
	if fields.String(r.owner.Object, "spec", "concurrencyPolicy") == "Forbid" && len(r.active) > 0 {
		r.note("JobAlreadyActive", "Not starting job because prior execution is running and concurrency policy is Forbid")
		return false
	}
	return true
}

// jobName is the name of the Job of a time. Times of the same minute have the same.
func (r *cronRun) jobName(at time.Time) string {
	return fmt.Sprintf("%s-%d", r.owner.GetName(), at.Unix()/60)
}

// startJob creates the Job of a time of the schedule. With the policy Replace, the Jobs that run
// are deleted.
func (r *cronRun) startJob(at time.Time, zone *time.Location) error {
	if fields.String(r.owner.Object, "spec", "concurrencyPolicy") == "Replace" {
		for _, job := range r.jobs {
			if finishedCondition(conditions.Of(job)) != nil {
				continue
			}
			if err := r.deleteJob(job); err != nil {
				return err
			}
		}
		r.active = nil
	}
	job := r.newJob(at, zone)
	created, err := r.Create(job)
	switch {
	case apierrors.IsAlreadyExists(err):
		// This is like kube-controller-manager 1.36, which then looks for the Job in no namespace.
		// Two times of a schedule in the same minute give the Job the same name. So the second
		// start fails and is tried again, with growing pauses, until the start of another minute is
		// due.
		return apierrors.NewNotFound(schema.GroupResource{Group: "batch", Resource: "jobs"}, job.GetName())
	case err != nil:
		r.warn("FailedCreate", "Error creating job: %v", err)
		return err
	default:
		r.note("SuccessfulCreate", "Created job %s", created.GetName())
	}
	r.active = append(r.active, reference(created))
	r.lastScheduleTime = fields.FormatTime(at)
	return nil
}

func (r *cronRun) newJob(at time.Time, zone *time.Location) *unstructured.Unstructured {
	template := fields.Map(r.owner.Object, "spec", "jobTemplate")
	job := control.NewObject(kinds.Job, r.owner.GetNamespace(), r.jobName(at))
	metadata := control.Metadata(job)
	if labels := fields.Map(template, "metadata", "labels"); len(labels) > 0 {
		metadata["labels"] = maps.Clone(labels)
	}
	annotations := fields.CloneMap(template, "metadata", "annotations")
	annotations[scheduledKey] = at.In(zone).Format(time.RFC3339)
	metadata["annotations"] = annotations
	metadata["ownerReferences"] = []any{control.ControllerRef(r.owner)}
	job.Object["spec"] = object.CopyMap(fields.Map(template, "spec"))
	return job
}

// cleanupFinished deletes the oldest finished Jobs, except for as many as the history limits say.
func (r *cronRun) cleanupFinished() error {
	return errors.Join(
		r.deleteOldest("Complete", fields.Int64(r.owner.Object, 3, "spec", "successfulJobsHistoryLimit")),
		r.deleteOldest("Failed", fields.Int64(r.owner.Object, 1, "spec", "failedJobsHistoryLimit")),
	)
}

func (r *cronRun) deleteOldest(how string, limit int64) error {
	finished := lists.Filter(r.jobs, func(job *unstructured.Unstructured) bool {
		return finishedCondition(conditions.Of(job)).Field("type") == how
	})
	slices.SortStableFunc(finished, func(a, b *unstructured.Unstructured) int {
		startA, startB := fields.String(a.Object, "status", "startTime"), fields.String(b.Object, "status", "startTime")
		return cmp.Or(cmp.Compare(startA, startB), fields.ByAge(a, b))
	})
	for _, job := range lists.AllButLast(finished, limit) {
		if err := r.deleteJob(job); err != nil {
			return err
		}
	}
	return nil
}

func (r *cronRun) deleteJob(job *unstructured.Unstructured) error {
	if err := r.Delete(job); err != nil {
		r.warn("FailedDelete", "Deleted job: %v", err)
		return err
	}
	r.deleted[job.GetUID()] = true
	r.note("SuccessfulDelete", "Deleted job %s", job.GetName())
	return nil
}

func (r *cronRun) status() control.Status {
	status := control.Status{}
	if len(r.active) > 0 {
		status["active"] = r.active
	}
	if r.lastScheduleTime != "" {
		status["lastScheduleTime"] = r.lastScheduleTime
	}
	if r.lastSuccessfulTime != "" {
		status["lastSuccessfulTime"] = r.lastSuccessfulTime
	}
	return status
}
