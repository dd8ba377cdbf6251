package wait_test

import (
	"context"
	"time"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

const (
	jobComplete = "{succeeded: 1, startTime: '2026-01-01T00:00:00Z', completionTime: '2026-01-01T00:00:05Z', conditions: [{type: Complete, status: 'True'}]}"
	jobFailed   = "{failed: 7, startTime: '2026-01-01T00:00:00Z', conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded, message: too many}]}"
	jobRuns     = "spec: {ttlSecondsAfterFinished: 5}\nstatus: {active: 1, startTime: '2026-01-01T00:00:00Z'}"
)

// deletedWhenFinished are objects that need not exist any longer.
func deletedWhenFinished() []scenario {
	absent := wait.Policy{Goals: map[wait.Ref]wait.Goal{job: {Status: kstatus.NotFound}}}
	return []scenario{
		{
			name: "a Job is done and deleted", refs: []wait.Ref{job, web},
			before: all(create(job, jobRuns), create(web, "status: "+podUnready)),
			script: do(status(job, jobComplete), remove(job), status(web, podReady)),
			want:   "job: InProgress Current NotFound; web: InProgress Current", after: 15 * time.Second,
		}, {
			name: "a Job has failed and is deleted", refs: []wait.Ref{job, web},
			before: all(create(job, jobRuns), create(web, "status: "+podUnready)),
			script: do(status(job, jobFailed), remove(job), status(web, podReady)),
			want:   "job: InProgress Failed NotFound; web: InProgress Current", after: 15 * time.Second,
			err: wait.ErrFailed, says: []string{"1 of 2", "Job.batch default/job: NotFound for ", "s, Finished: Deleted after it had failed: too many"},
		}, {
			name: "a Job is done, deleted and created again", refs: []wait.Ref{job, web},
			before: all(create(job, jobRuns), create(web, "status: "+podUnready)),
			script: do(status(job, jobComplete), remove(job), create(job, jobRuns), status(web, podReady), status(job, jobComplete)),
			want:   "job: InProgress Current NotFound InProgress Current; web: InProgress Current", after: 25 * time.Second,
		}, {
			name: "a Job is done and deleted, but for a finalizer", refs: []wait.Ref{job, web},
			before: all(create(job, "  finalizers: [example.com/kept]\n"+jobRuns), create(web, "status: "+podUnready)),
			script: do(status(job, jobComplete), remove(job), status(web, podReady)),
			want:   "job: InProgress Current Terminating; web: InProgress Current", after: 15 * time.Second,
		}, {
			name: "a Job that runs is deleted", refs: []wait.Ref{job}, timeout: 20 * time.Second,
			before: create(job, jobRuns),
			script: do(remove(job)),
			want:   "job: InProgress NotFound", after: 20 * time.Second, err: context.DeadlineExceeded,
		}, {
			name: "a Job is done and deleted, as is wanted", refs: []wait.Ref{job}, policy: absent,
			before: create(job, jobRuns),
			script: do(status(job, jobComplete), remove(job)),
			want:   "job: InProgress Current NotFound", after: 10 * time.Second,
		}, {
			name: "a Pod has succeeded and is deleted", refs: []wait.Ref{web, config},
			before: create(web, "status: {phase: Succeeded}"),
			script: do(remove(web), create(config, "")),
			want:   "config: NotFound Current; web: Current NotFound", after: 10 * time.Second,
		}, {
			name: "a Pod that was ready is deleted", refs: []wait.Ref{web, config}, timeout: 20 * time.Second,
			before: create(web, "status: "+podReady),
			script: do(remove(web), create(config, "")),
			want:   "config: NotFound Current; web: Current NotFound", after: 20 * time.Second, err: context.DeadlineExceeded,
		},
	}
}

// missingForTooLong are objects that never come, such as those with a typing error in their names.
func missingForTooLong() []scenario {
	within := func(d time.Duration) wait.Policy { return wait.Policy{Goal: wait.Goal{MissingTimeout: d}} }
	return []scenario{
		{
			name: "a name that nothing has", refs: []wait.Ref{web}, policy: within(12 * time.Second),
			want: "web: NotFound", after: 12 * time.Second,
			err: wait.ErrMissing, says: []string{"1 of 1 objects are not done: objects are missing\n", "Pod default/web: NotFound (missing for too long) for 12s: Resource not found"},
		}, {
			name: "a kind that is not there", refs: []wait.Ref{widget}, policy: within(12 * time.Second),
			want: "widget: NotFound", after: 12 * time.Second,
			err: wait.ErrMissing, says: []string{"(missing for too long) for 12s, NoKind: The cluster has no Widget.example.com in version v1"},
		}, {
			name: "a kind that must not be read", refs: []wait.Ref{secret}, policy: within(12 * time.Second),
			transport: func(c *memory.Cluster) transport.Reader { return &faulty{Cluster: c, forbidden: "Secret"} },
			want:      "secret: Unknown", after: 12 * time.Second,
			err: wait.ErrMissing, says: []string{"Secret default/secret: Unknown (missing for too long) for 12s, Forbidden: "},
		}, {
			name: "fail fast does not wait for what never comes", refs: []wait.Ref{web, config}, policy: wait.Policy{FailFast: true},
			before: create(web, "status: "+podUnready),
			want:   "config: NotFound; web: InProgress", after: 30 * time.Second,
			err: wait.ErrMissing, says: []string{"2 of 2", "ConfigMap default/config: NotFound (missing for too long) for 30s"},
		}, {
			name: "fail fast waits as long as it is told", refs: []wait.Ref{config}, policy: wait.Policy{FailFast: true, Goal: wait.Goal{MissingTimeout: 50 * time.Second}},
			want: "config: NotFound", after: 50 * time.Second, err: wait.ErrMissing,
		}, {
			name: "it comes after all, as long as others are waited for", refs: []wait.Ref{web, config}, policy: within(4 * time.Second),
			before: create(web, "status: "+podUnready),
			script: do(create(config, ""), status(web, podReady)),
			want:   "config: NotFound Current; web: InProgress Current", after: 10 * time.Second,
		}, {
			name: "each object its own limit", refs: []wait.Ref{web, config}, policy: wait.Policy{Goals: map[wait.Ref]wait.Goal{config: {MissingTimeout: 5 * time.Second}}}, timeout: 20 * time.Second,
			want: "config: NotFound; web: NotFound", after: 20 * time.Second,
			err: wait.ErrMissing, says: []string{"context deadline exceeded, objects are missing\n", "Pod default/web: NotFound for 20s", "ConfigMap default/config: NotFound (missing for too long) for 20s"},
		}, {
			name: "what shall be gone is not missing", refs: []wait.Ref{web}, policy: wait.Policy{FailFast: true, Goal: wait.Goal{Status: kstatus.NotFound, MissingTimeout: time.Second}},
			before: create(web, "status: "+podUnready),
			script: do(remove(web)),
			want:   "web: InProgress NotFound", after: 5 * time.Second,
		},
	}
}
