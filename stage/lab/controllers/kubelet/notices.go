package kubelet

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A Notice is an Event that a kubelet records at a time while a container runs.
type Notice struct {
	At time.Time
	Event
}

// Notices returns the Events about the running containers of a Pod:
//
// Unhealthy for each probe that fails, for a readiness probe until the container is not ready;
// Killing when the kubelet stops a container; and DeadlineExceeded.
//
// The result has the Events since the containers started, and the future Events if the Pod does not
// change, sorted by time. [Next] returns the Events of the start itself. An error means that an
// annotation of the Pod is wrong.
func Notices(pod *unstructured.Unstructured, now time.Time, o Options) ([]Notice, error) {
	k, err := newKubelet(pod, now, o)
	if err != nil || !k.runsAny() {
		return nil, err
	}
	k.deadline = k.pastDeadline()
	var all []Notice
	if k.deadline {
		all = append(all, Notice{k.deadlineAt(), Event{"Normal", "DeadlineExceeded", deadlineExceeded}})
	}
	for _, c := range k.all() {
		if c.running() {
			all = append(all, slices.DeleteFunc(k.noticesOf(c), func(n Notice) bool { return n.At.Equal(c.started) })...)
		}
	}
	slices.SortStableFunc(all, func(a, b Notice) int { return a.At.Compare(b.At) })
	return all, nil
}

// noticesOf returns the Events about a running container.
func (k *kubelet) noticesOf(c *container) (all []Notice) {
	s := k.stopOf(c)
	begins := time.Duration(0)
	if c.startup != nil {
		begins, _ = c.startup.passes(0)
		all = append(all, c.failures(c.startup, "Startup", 0, s)...)
	}
	all = append(all, c.failures(c.liveness, "Liveness", begins, s)...)
	all = append(all, c.failures(c.readiness, "Readiness", begins, s)...)
	if asked := k.askedAt(c, s); !asked.IsZero() {
		all = append(all, Notice{asked, Event{"Normal", "Killing", k.killing(c, s)}})
	}
	return all
}

// askedAt returns when the kubelet stops a running container, or the zero time for never. When only
// sidecars are left, Next records the Event.
func (k *kubelet) askedAt(c *container, s stop) time.Time {
	all := k.stopAskedAt()
	switch {
	case s.probe != "" || all.IsZero():
		return s.asked
	case k.isComplete() && all.Equal(k.completeAt()):
		return time.Time{}
	}
	if asked := maxTime(all, c.started); !s.asked.IsZero() || s.at.After(asked) { // it might end by itself after the kubelet stops it
		return asked
	}
	return time.Time{}
}

// failures returns the Events of the probes that fail until a container is stopped.
func (c *container) failures(p *probe, kind string, notBefore time.Duration, s stop) (all []Notice) {
	if p == nil {
		return nil
	}
	begin, end := p.answer.begin(false)
	for i := range p.failure {
		after := p.seen(notBefore, begin, i+1)
		at := c.started.Add(after)
		if after >= end || after >= never || !s.asked.IsZero() && at.After(s.asked) || !s.at.IsZero() && at.After(s.at) {
			break
		}
		all = append(all, Notice{at, Event{"Warning", "Unhealthy", kind + " probe failed: "}})
	}
	return all
}

// killing is the text of the Event that is recorded when the kubelet stops a container.
func (k *kubelet) killing(c *container, s stop) string {
	switch {
	case s.probe == "":
		return "Stopping container " + c.name
	case c.init:
		return fmt.Sprintf("Init container %s failed %s probe", c.name, s.probe)
	case k.restartPolicy() == "Never":
		return fmt.Sprintf("Container %s failed %s probe", c.name, s.probe)
	}
	return fmt.Sprintf("Container %s failed %s probe, will be restarted", c.name, s.probe)
}
