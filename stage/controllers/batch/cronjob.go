package batch

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
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/lists"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// CronJobs returns the controller that creates Jobs by a schedule. A CronJob whose schedule or time
// zone cannot be read is left alone.
func CronJobs() reconcile.Controller {
	return reconcile.Controller{
		Name: "cronjob", For: kinds.CronJob, Watches: []reconcile.Watch{{Kind: kinds.Job}},
		Reconcile: control.OnExisting(kinds.CronJob, reconcileCronJob),
	}
}

const scheduledKey = "batch.kubernetes.io/cronjob-scheduled-timestamp"

// schedulesByName are the schedules that have a name.
var schedulesByName = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// A schedule is that of a CronJob, in its time zone.
type schedule struct {
	cron.Schedule
	zone *time.Location
}

func readSchedule(cj *unstructured.Unstructured) (schedule, error) {
	zone, err := time.LoadLocation(cmp.Or(fields.String(cj.Object, "spec", "timeZone"), "UTC"))
	if err != nil {
		return schedule{}, err
	}
	expression := fields.String(cj.Object, "spec", "schedule")
	if named, ok := schedulesByName[expression]; ok {
		expression = named
	}
	s, err := cron.Parse(strings.ReplaceAll(expression, "?", "*"))
	return schedule{s, zone}, err
}

// next returns the first time after another one, zero if there is none.
func (t schedule) next(after time.Time) time.Time {
	for at := range t.After(after, t.zone) {
		return at
	}
	return time.Time{}
}

// mostRecent returns the latest time of the schedule in (since, now], zero if there is none.
func (t schedule) mostRecent(since, now time.Time) (latest time.Time) {
	for at := range t.After(since, t.zone) {
		if at.After(now) {
			break
		}
		latest = at
	}
	return latest
}

// A cronRun is one reconcile of a CronJob.
type cronRun struct {
	control.Call
	owner              *unstructured.Unstructured
	jobs               []*unstructured.Unstructured
	active             []any // references to the Jobs that run
	lastScheduleTime   string
	lastSuccessfulTime string
}

func reconcileCronJob(c control.Call, cj *unstructured.Unstructured) (reconcile.Result, error) {
	r := &cronRun{
		Call: c, owner: cj, jobs: c.Cache.Owned(kinds.Job, cj.GetUID()),
		lastScheduleTime:   fields.String(cj.Object, "status", "lastScheduleTime"),
		lastSuccessfulTime: fields.String(cj.Object, "status", "lastSuccessfulTime"),
	}
	r.updateActive()
	after, failed := r.act()
	if err := r.cleanupFinished(); failed == nil {
		failed = err
	}
	return reconcile.Result{After: after}, errors.Join(failed, r.WriteStatus(cj, r.status()))
}

// updateActive finds out which Jobs run, in the order in which they were started, and when one last
// succeeded.
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
		if job := running[fields.String(ref, "uid")]; job != nil {
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

// act starts a Job if one is due, and returns after which time the next one is.
func (r *cronRun) act() (time.Duration, error) {
	s, err := readSchedule(r.owner)
	if err != nil || fields.IsTerminating(r.owner) || fields.Bool(r.owner.Object, "spec", "suspend") {
		return 0, nil
	}
	at := s.mostRecent(r.since(), r.Now)
	if r.isDue(at) {
		err = r.startJob(at, s.zone)
	}
	next := s.next(r.Now)
	if next.IsZero() || err != nil {
		return 0, err
	}
	return next.Sub(r.Now), nil
}

// since returns the time after which a schedule may have been missed.
func (r *cronRun) since() time.Time {
	since, err := time.Parse(time.RFC3339, r.lastScheduleTime)
	if err != nil {
		since = r.owner.GetCreationTimestamp().Time
	}
	if deadline := fields.Int64(r.owner.Object, -1, "spec", "startingDeadlineSeconds"); deadline >= 0 {
		if earliest := r.Now.Add(-fields.Seconds(deadline)); earliest.After(since) {
			return earliest
		}
	}
	return since
}

func (r *cronRun) isDue(at time.Time) bool {
	forbidden := fields.String(r.owner.Object, "spec", "concurrencyPolicy") == "Forbid" && len(r.active) > 0
	return !at.IsZero() && fields.FormatTime(at) != r.lastScheduleTime && !forbidden
}

// startJob creates the Job of a time of the schedule. With the policy Replace, the Jobs that run
// are deleted.
func (r *cronRun) startJob(at time.Time, zone *time.Location) error {
	if fields.String(r.owner.Object, "spec", "concurrencyPolicy") == "Replace" {
		for _, job := range r.jobs {
			if finishedCondition(conditions.Of(job)) != nil {
				continue
			}
			if err := r.Delete(job); err != nil {
				return err
			}
		}
		r.active = nil
	}
	job := r.newJob(at, zone)
	created, err := r.Create(job)
	if apierrors.IsAlreadyExists(err) {
		created, err = r.Cache.Get(kinds.Job, control.NameOf(job)), nil
	}
	if err != nil || created == nil {
		return err
	}
	r.active = append(r.active, reference(created))
	r.lastScheduleTime = fields.FormatTime(at)
	return nil
}

func (r *cronRun) newJob(at time.Time, zone *time.Location) *unstructured.Unstructured {
	template := fields.Map(r.owner.Object, "spec", "jobTemplate")
	job := control.NewObject(kinds.Job, r.owner.GetNamespace(), fmt.Sprintf("%s-%d", r.owner.GetName(), at.Unix()/60))
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
	return r.DeleteAll(lists.AllButLast(finished, limit))
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
