package kubelet

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
)

// CommandSuffix is the part of an annotation key before the name of a container. The annotation of
// the Pod says what the container does instead of its command, in the same words: sleep 5; exit 1.
const CommandSuffix = "command.stagecraft-go.github.io/"

// AnswerSuffix is the part of an annotation key between the kind of a probe (startup, readiness or
// liveness) and the name of a container. The annotation of the Pod says how the probe answers:
// succeeds (the default), fails, succeeds after 30s, or fails after 30s, counted from the start of
// the container.
const AnswerSuffix = ".probe.stagecraft-go.github.io/"

// Options of kubelets. The zero value is the default.
type Options struct {
	// UnpullableImages are images, as Pods name them, that cannot be pulled, in addition to all
	// whose tag is 404.
	UnpullableImages []string
	// Program returns what a container of a Pod does instead of its command; false: what its
	// command says. The run is how often the container was started before. A kubelet calls Program
	// repeatedly: the answer for the same Pod, container and run must be the same. It must be safe
	// for concurrent use if the kubelets are. Default: what commands say. The annotation of
	// [CommandSuffix] comes first.
	Program func(pod *unstructured.Unstructured, container string, run int) (Program, bool)
	// RunUnknown has every container whose command is not known run until it is stopped. Default: where
	// a Pod is meant to end, such a container ends, see the package comment.
	RunUnknown bool
	// HostIP returns the address of a node, or "". Default: no address.
	HostIP func(node string) string
}

// A Step is what a kubelet does with a Pod at a time.
type Step struct {
	// Status is the whole status from then on.
	Status map[string]any
	// Events are the Events to record, in their order.
	Events []Event
	// Delete is set if the Pod must be deleted without a grace period after its status has been
	// written. Its deletion was requested, and its containers have ended.
	Delete bool
	// Next is when there is more to do if the Pod does not change before. Zero: never.
	Next time.Time
}

// An Event is an Event that a kubelet records about a Pod.
type Event struct{ Type, Reason, Message string }

// Next returns what a kubelet does at a time with a Pod that is bound to its node. It depends only
// on the Pod. If its status is written, the same call returns the same status and no Events. An
// error means that an annotation of the Pod is wrong. Next does not change the Pod. [Notices]
// returns the Events that a kubelet records while the status stays the same.
func Next(pod *unstructured.Unstructured, now time.Time, o Options) (Step, error) {
	k, err := newKubelet(pod, now, o)
	if err != nil {
		return Step{}, err
	}
	return k.step(), nil
}

// A kubelet computes one Step.
type kubelet struct {
	pod          *unstructured.Unstructured
	options      Options
	now          time.Time
	status       map[string]any
	inits, mains []*container
	events       []Event
	next         time.Time
	phase        string // as it is written: not terminal while a container runs
	verdict      string // the future phase
	deadline     bool   // activeDeadlineSeconds are over
	complete     bool   // all containers but sidecars are done
}

func newKubelet(pod *unstructured.Unstructured, now time.Time, o Options) (*kubelet, error) {
	k := &kubelet{pod: pod, options: o, now: now.UTC().Truncate(time.Second), status: fields.CloneMap(pod.Object, "status")}
	var err error
	if k.inits, err = containersOf(pod, "initContainers", o); err != nil {
		return nil, err
	}
	k.mains, err = containersOf(pod, "containers", o)
	return k, err
}

func (k *kubelet) step() Step {
	k.phase = fields.String(k.status, "phase")
	if isTerminal(k.phase) {
		return Step{Status: k.status, Delete: fields.IsTerminating(k.pod)}
	}
	k.start()
	k.deadline = k.pastDeadline()
	k.runAll()
	k.setPhase()
	k.write()
	gone := fields.IsTerminating(k.pod) && !k.runsAny()
	if isTerminal(k.phase) || gone {
		k.next = time.Time{}
	}
	return Step{Status: k.status, Events: k.events, Delete: gone, Next: k.next}
}

// start sets the start time of a Pod that the kubelet sees for the first time.
func (k *kubelet) start() {
	if _, ok := fields.Time(k.status, "startTime"); !ok {
		k.status["startTime"] = fields.FormatTime(k.now)
	}
	for _, c := range k.all() {
		if c.reason == "" && !c.running() && c.ended == nil {
			c.reason = "ContainerCreating"
			if len(k.inits) > 0 {
				c.reason = "PodInitializing"
			}
		}
	}
}

func (k *kubelet) all() []*container { return append(append([]*container{}, k.inits...), k.mains...) }

func (k *kubelet) startTime() time.Time {
	t, _ := fields.Time(k.status, "startTime")
	return t
}

// deadlineAt returns when activeDeadlineSeconds are over, the zero time if never.
func (k *kubelet) deadlineAt() time.Time {
	n := fields.Int64(k.pod.Object, 0, "spec", "activeDeadlineSeconds")
	if n <= 0 || k.startTime().IsZero() {
		return time.Time{}
	}
	return k.startTime().Add(fields.Seconds(n))
}

func (k *kubelet) pastDeadline() bool {
	at := k.deadlineAt()
	k.wake(at)
	return !at.IsZero() && !at.After(k.now)
}

func (k *kubelet) wake(at time.Time) {
	if at.After(k.now) {
		k.next = earlier(k.next, at)
	}
}

func (k *kubelet) record(kind, reason, format string, args ...any) {
	k.events = append(k.events, Event{kind, reason, fmt.Sprintf(format, args...)})
}

// runAll brings the containers to their present state: init containers and sidecars one after
// another, then the others.
func (k *kubelet) runAll() {
	k.complete = k.isComplete()
	for _, c := range k.all() {
		if c.running() {
			k.changeRunning(c)
		}
	}
	k.noteCompletion()
	since, goOn, latest := k.startTime(), true, k.latestInit()
	for i, c := range k.inits {
		if goOn || c.running() || c.sidecar && c.lastEnd() != nil {
			k.run(c, since)
		}
		if passed := c.isPassed(); passed && goOn {
			since = c.passedAt(since)
		} else {
			goOn = goOn && i < latest
		}
	}
	goOn = goOn || slices.ContainsFunc(k.mains, (*container).running)
	for _, c := range k.mains {
		if goOn || c.running() {
			k.run(c, since)
		}
	}
	if k.noteCompletion(); k.complete {
		for _, c := range k.inits {
			k.run(c, since)
		}
	}
}

// latestInit returns the index of the last init container that has ever run. Earlier ones no longer
// hold up the others, even if they are sidecars that are restarting.
func (k *kubelet) latestInit() (latest int) {
	for i, c := range k.inits {
		if c.running() || c.lastEnd() != nil {
			latest = i
		}
	}
	return latest
}

// noteCompletion records that the sidecars are stopped, when the other containers are done.
func (k *kubelet) noteCompletion() {
	if k.complete || !k.isComplete() {
		return
	}
	k.complete = true
	for _, c := range k.inits {
		if c.running() {
			k.record("Normal", "Killing", "Stopping container %s", c.name)
		}
	}
}

// initialized reports whether a container that is not an init container has ever run. In such a
// Pod, init containers that are sidecars can be restarting.
func (k *kubelet) initialized() bool {
	return slices.ContainsFunc(k.mains, func(c *container) bool { return c.running() || c.ended != nil || c.last != nil })
}

// isPassed reports whether the next container may start: a sidecar has started, another init
// container has succeeded.
func (c *container) isPassed() bool {
	if c.sidecar {
		return c.begun
	}
	return c.ended != nil && c.ended.code == 0
}

// passedAt returns when that was.
func (c *container) passedAt(since time.Time) time.Time {
	switch {
	case c.ended != nil:
		return c.ended.finished
	case c.startup != nil:
		begins, _ := c.startup.passes(0)
		return c.started.Add(begins)
	case c.started.After(since):
		return c.started
	}
	return since
}

// run starts a container, ends it and starts it again, if it is time.
func (k *kubelet) run(c *container, since time.Time) {
	for k.change(c, since) {
	}
	if c.running() {
		k.wake(c.probed(k.now))
	}
}

// change makes one change, and reports whether more can follow. A container starts at the time at
// which the kubelet looks, so this ends: the second restart is after 10 seconds.
func (k *kubelet) change(c *container, since time.Time) bool {
	switch {
	case c.running():
		return k.changeRunning(c)
	case k.stopping() || k.isOver():
		return false
	case c.ended != nil:
		return k.awaitRestart(c)
	}
	if at := c.due(); at.After(k.now) {
		k.wake(at)
		return false
	}
	image := fields.String(c.spec, "image")
	if !k.options.canPull(image) {
		k.pullFails(c, image, since)
		return false
	}
	if c.last != nil {
		c.restarts++
		_ = c.readProgram(k.pod, k.options) // an error has been returned by newKubelet
	}
	c.started, c.reason, c.waiting, c.id = k.now, "", "", k.containerID(c)
	k.record("Normal", "Pulled", "Container image %q already present on machine", image)
	k.record("Normal", "Created", "Container created")
	k.record("Normal", "Started", "Container started")
	for _, n := range k.noticesOf(c) {
		if n.At.Equal(k.now) {
			k.events = append(k.events, n.Event)
		}
	}
	return true
}

func (k *kubelet) pullFails(c *container, image string, since time.Time) {
	before := c.reason
	if c.last != nil {
		since = c.due()
	}
	k.wake(c.awaitImage(image, since, k.now))
	switch {
	case c.reason == before:
	case c.reason == "ErrImagePull":
		k.record("Normal", "Pulling", "Pulling image %q", image)
		k.record("Warning", "Failed", "Failed to pull image %q: %s", image, c.waiting)
		k.record("Warning", "Failed", "Error: ErrImagePull")
	default:
		k.record("Normal", "BackOff", "Back-off pulling image %q", image)
		k.record("Warning", "Failed", "Error: ImagePullBackOff")
	}
}

// stopping reports whether no more containers may be started.
func (k *kubelet) stopping() bool { return k.deadline || fields.IsTerminating(k.pod) }

// changeRunning ends a container that runs, if it is time.
func (k *kubelet) changeRunning(c *container) bool {
	s := k.stopOf(c)
	if s.at.IsZero() || s.at.After(k.now) {
		k.wake(s.at)
		return false
	}
	k.end(c, s)
	return !k.stays(c)
}

// end ends a running container.
func (k *kubelet) end(c *container, s stop) {
	c.ended = &end{code: s.code, id: c.id, started: c.started, finished: s.at}
	c.started, c.ready, c.begun = time.Time{}, false, false
	if !k.stays(c) && c.crashDelay(c.ended) > 0 {
		k.record("Warning", "BackOff", "Back-off restarting failed container %s in pod %s", c.name, fullName(k.pod))
	}
}

// awaitRestart makes an ended container wait for its next start, unless the container stays as it
// is. A kubelet syncs when the delay is over, but after a minute at the latest. Until then the
// status says how the container ended.
func (k *kubelet) awaitRestart(c *container) bool {
	if k.stays(c) {
		return false
	}
	delay := c.crashDelay(c.ended)
	if at := c.ended.finished.Add(min(delay-time.Second, resync)); at.After(k.now) {
		k.wake(at)
		return false
	}
	c.backOff(k.pod, c.ended)
	return true
}

// resync is how long a kubelet does not look at a Pod at most.
const resync = time.Minute

// stays reports whether a container has ended for good.
func (k *kubelet) stays(c *container) bool {
	return c.ended != nil && (k.stopping() || !k.restartsAfter(c, c.ended.code))
}

// restartsAfter reports whether a container is started again after an exit code.
func (k *kubelet) restartsAfter(c *container, code int64) bool {
	switch policy := k.restartPolicy(); {
	case c.sidecar:
		return !k.isOver()
	case policy == "Never":
		return false
	case policy == "OnFailure" || c.init:
		return code != 0
	}
	return true
}

func (k *kubelet) restartPolicy() string {
	if p := fields.String(k.pod.Object, "spec", "restartPolicy"); p != "" {
		return p
	}
	return "Always"
}

// isOver reports whether only sidecars can still do anything: all other containers have ended for
// good, or an init container has failed for good.
func (k *kubelet) isOver() bool { return k.allDone(k.stays) }

// isComplete reports the same, but not if it is only so because the Pod is being stopped.
func (k *kubelet) isComplete() bool {
	return k.allDone(func(c *container) bool { return c.ended != nil && !k.restartsAfter(c, c.ended.code) })
}

func (k *kubelet) allDone(done func(*container) bool) bool {
	for _, c := range k.inits {
		if !c.sidecar && done(c) && c.ended.code != 0 {
			return true
		}
	}
	for _, c := range k.mains {
		if !done(c) {
			return false
		}
	}
	return len(k.mains) > 0 // a Pod without containers, which an API server refuses, runs
}

func (k *kubelet) runsAny() bool {
	for _, c := range k.all() {
		if c.running() {
			return true
		}
	}
	return false
}
