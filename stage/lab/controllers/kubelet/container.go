package kubelet

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
)

// The exit codes of containers that are stopped.
const (
	codeTerminated = 128 + 15 // by the signal TERM
	codeKilled     = 128 + 9  // after the grace period: sleep and sh handle no signals as process 1
)

// A container is one of a Pod, with its status.
type container struct {
	spec                         map[string]any
	name                         string
	init, sidecar                bool
	program                      program
	startup, readiness, liveness *probe

	restarts        int64
	waiting, reason string    // while it waits: a message and the reason
	id              string    // of the last container that was started
	started         time.Time // zero unless it runs
	ended, last     *end
	ready, begun    bool
}

// An end is how a container ended.
type end struct {
	code              int64
	id                string // of the container that ended
	started, finished time.Time
}

// containersOf reads the containers of a Pod, or its init containers, and their statuses.
func containersOf(pod *unstructured.Unstructured, field string, o Options) (all []*container, err error) {
	for _, spec := range fields.Maps(pod.Object, "spec", field) {
		c := &container{spec: spec, name: fields.String(spec, "name"), init: field == "initContainers"}
		c.sidecar = c.init && fields.String(spec, "restartPolicy") == "Always"
		for kind, p := range map[string]**probe{"startup": &c.startup, "readiness": &c.readiness, "liveness": &c.liveness} {
			if *p, err = probeOf(pod, spec, kind); err != nil {
				return nil, err
			}
		}
		c.readStatus(pod)
		if err = c.readProgram(pod, o); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// readProgram reads the program of the container in its present run.
func (c *container) readProgram(pod *unstructured.Unstructured, o Options) (err error) {
	if !c.init {
		c.program, err = o.mainProgram(pod, c.spec, c.restarts)
		return err
	}
	c.program, err = o.program(pod, c.spec, c.restarts)
	if !c.sidecar && !c.program.known {
		c.program.known = true // it succeeds at once, so that its Pod gets further
	}
	return err
}

func statusField(init bool) string {
	if init {
		return "initContainerStatuses"
	}
	return "containerStatuses"
}

// readStatus reads the part of the status that is kept between two calls.
func (c *container) readStatus(pod *unstructured.Unstructured) {
	for _, s := range fields.Maps(pod.Object, "status", statusField(c.init)) {
		if fields.String(s, "name") != c.name {
			continue
		}
		c.restarts, c.id = fields.Int64(s, 0, "restartCount"), fields.String(s, "containerID")
		c.reason, c.waiting = fields.String(s, "state", "waiting", "reason"), fields.String(s, "state", "waiting", "message")
		c.started, _ = fields.Time(s, "state", "running", "startedAt")
		c.ended, c.last = readEnd(fields.Map(s, "state", "terminated")), readEnd(fields.Map(s, "lastState", "terminated"))
	}
}

func readEnd(m map[string]any) *end {
	if m == nil {
		return nil
	}
	e := &end{code: fields.Int64(m, 0, "exitCode"), id: fields.String(m, "containerID")}
	e.started, _ = fields.Time(m, "startedAt")
	e.finished, _ = fields.Time(m, "finishedAt")
	return e
}

func (e *end) status() map[string]any {
	reason := "Completed"
	if e.code != 0 {
		reason = "Error"
	}
	return map[string]any{"terminated": map[string]any{
		"exitCode": e.code, "reason": reason, "startedAt": fields.FormatTime(e.started), "finishedAt": fields.FormatTime(e.finished), "containerID": e.id,
	}}
}

// status is the status of the container, as a kubelet writes it.
func (c *container) status() map[string]any {
	image := fields.String(c.spec, "image")
	s := map[string]any{"name": c.name, "image": image, "imageID": "", "lastState": map[string]any{}, "ready": c.ready, "started": c.begun, "restartCount": c.restarts}
	if c.id != "" {
		s["imageID"], s["containerID"] = image, c.id
	}
	if c.last != nil {
		s["lastState"] = c.last.status()
	}
	switch {
	case c.running():
		s["state"] = map[string]any{"running": map[string]any{"startedAt": fields.FormatTime(c.started)}}
	case c.ended != nil:
		s["state"] = c.ended.status()
	default:
		s["state"] = map[string]any{"waiting": c.waitingStatus()}
	}
	return s
}

func (c *container) waitingStatus() map[string]any {
	w := map[string]any{"reason": c.reason}
	if c.waiting != "" {
		w["message"] = c.waiting
	}
	return w
}

func (c *container) running() bool { return !c.started.IsZero() }

// probed sets the results of the probes of a running container at a time. It returns when they
// change next; the zero time means never.
func (c *container) probed(now time.Time) (next time.Time) {
	age, begins := now.Sub(c.started), time.Duration(0)
	if c.startup != nil {
		begins, _ = c.startup.passes(0)
	}
	from, to := begins, never
	if c.readiness != nil {
		from, to = c.readiness.passes(begins)
	}
	c.begun = age >= begins
	c.ready = age >= from && age < to
	for _, d := range []time.Duration{begins, from, to} {
		if d > age && d < never {
			next = earlier(next, c.started.Add(d))
		}
	}
	return next
}

// earlier returns the earlier of two times. The zero time means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// crashDelays are how long a kubelet waits until it starts a container again.
var crashDelays = [...]time.Duration{0, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 300 * time.Second}

// resetAfter is how long a container has to run until the delay starts from the beginning.
const resetAfter = 10 * time.Minute

// crashDelay returns the delay after an end, from how long the container waited before.
func (c *container) crashDelay(e *end) time.Duration {
	if c.last == nil || e.finished.Sub(e.started) > resetAfter {
		return 0
	}
	waited := e.started.Sub(c.last.finished)
	for i, d := range crashDelays[1:] {
		if waited < d {
			return crashDelays[i+1]
		}
	}
	return crashDelays[len(crashDelays)-1]
}

// backOff makes the container wait after an end until it is started again.
func (c *container) backOff(pod *unstructured.Unstructured, e *end) {
	d := c.crashDelay(e)
	c.ended, c.last = nil, e
	c.reason, c.waiting = "CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", d, c.name, fullName(pod))
}

// due is when a container that waits is started again.
func (c *container) due() time.Time {
	if c.last == nil {
		return time.Time{}
	}
	var text string
	if _, err := fmt.Sscanf(c.waiting, "back-off %s restarting", &text); err != nil {
		return c.last.finished
	}
	d, _ := time.ParseDuration(text)
	return c.last.finished.Add(d)
}

func fullName(pod *unstructured.Unstructured) string {
	return fmt.Sprintf("%s_%s(%s)", pod.GetName(), pod.GetNamespace(), pod.GetUID())
}
