package nodes

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
)

// A nodeHealth is the knowledge about the heartbeats of a Node.
type nodeHealth struct {
	uid       types.UID
	zone      string
	ready     string // status of the condition Ready in the last pass, "" without it
	observed  string // the same when it was observed last
	heartbeat string // lastHeartbeatTime of that condition
	renewed   string // renewTime of the Lease
	stopped   bool   // by the annotation
	beats     bool   // heartbeats are expected
	probe     time.Time
}

func newNodeHealth(node *unstructured.Unstructured, now time.Time, beats bool) *nodeHealth {
	ready := readyOf(node)
	h := &nodeHealth{uid: node.GetUID(), observed: ready.Field("status"), heartbeat: ready.Field("lastHeartbeatTime"), beats: beats, probe: now}
	if created, ok := fields.Time(node.Object, "metadata", "creationTimestamp"); ok && ready == nil {
		h.probe = created
	}
	return h
}

// observe takes in the heartbeats that a Node and its Lease show, at the time of the pass that sees
// them.
func (h *nodeHealth) observe(node, lease *unstructured.Unstructured, now time.Time) {
	ready := readyOf(node)
	status, heartbeat := ready.Field("status"), ready.Field("lastHeartbeatTime")
	switch {
	case (h.observed == "") != (status == ""):
		h.probe = now
	case heartbeat != h.heartbeat:
		h.probe, h.beats = now, h.beats || status == h.observed
	}
	h.observed, h.heartbeat = status, heartbeat
	if lease != nil {
		if renewed := fields.String(lease.Object, "spec", "renewTime"); renewed > h.renewed {
			h.renewed, h.probe = renewed, now
		}
		h.beats = true
	}
	if stopped := IsStopped(node); stopped != h.stopped {
		h.stopped, h.probe = stopped, now
	}
}

// expires returns when the grace period of a Node ends that is not Unknown yet; farAway if it does
// not.
func (h *nodeHealth) expires(o Options) time.Time {
	switch {
	case h.observed == "":
		return h.probe.Add(o.StartupGracePeriod)
	case h.observed == "Unknown" || !h.beats && !h.stopped:
		return farAway
	}
	return h.probe.Add(o.GracePeriod)
}

// expire makes the conditions of a Node Unknown if its grace period is over, and returns the
// changed Node.
func (h *nodeHealth) expire(c control.Call, node *unstructured.Unstructured, o Options) (*unstructured.Unstructured, error) {
	if !c.Now.After(h.expires(o)) {
		return node, nil
	}
	list := conditions.Of(node)
	for _, kind := range []string{"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"} {
		list = list.Replace(unknown(list.Find(kind), kind, node, c.Timestamp()))
	}
	status := control.Status(fields.CloneMap(node.Object, "status"))
	list.WriteTo(status)
	if err := c.WriteStatus(node, status); err != nil {
		return node, control.IgnoreNotFound(err)
	}
	if now := c.Cache.Get(node.GroupVersionKind(), control.NameOf(node)); now != nil {
		node = now
	}
	h.observed, h.heartbeat = "Unknown", readyOf(node).Field("lastHeartbeatTime")
	return node, nil
}

// unknown returns a condition whose status is no longer known.
func unknown(old conditions.Condition, kind string, node *unstructured.Unstructured, now string) conditions.Condition {
	switch {
	case old == nil:
		c := conditions.New(kind, "Unknown", "NodeStatusNeverUpdated", "Kubelet never posted node status.", now)
		c["lastHeartbeatTime"] = fields.String(node.Object, "metadata", "creationTimestamp")
		return c
	case old.Field("status") == "Unknown":
		return old
	}
	c := maps.Clone(old)
	c["status"], c["reason"], c["message"] = "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."
	c["lastTransitionTime"] = now
	return c
}
