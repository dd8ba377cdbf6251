package nodes

import (
	"cmp"
	"time"
)

// Options of the controllers of this package. The zero value has the defaults of
// kube-controller-manager.
type Options struct {
	// MonitorPeriod is the time between two passes over the Nodes. Default 5s.
	MonitorPeriod time.Duration
	// GracePeriod is how long a Node may send no heartbeat before it is unreachable. Default 50s.
	GracePeriod time.Duration
	// StartupGracePeriod is the grace period of a Node that never had the condition Ready. Default
	// 60s.
	StartupGracePeriod time.Duration
	// EvictionRate is how many Nodes of a zone get taints NoExecute, per second. Default 0.1.
	EvictionRate float32
	// SecondaryEvictionRate is the rate in a zone of more than LargeZone Nodes if at least
	// UnhealthyShare of the Nodes, and at least three, are not ready. Default 0.01. In a smaller
	// zone it is 0.
	SecondaryEvictionRate float32
	// LargeZone is a number of Nodes. Default 50.
	LargeZone int
	// UnhealthyShare is a share from 0 to 1. Default 0.55.
	UnhealthyShare float32
	// RequireHeartbeats makes Nodes unreachable that have never sent a heartbeat. Default: they are
	// alive for as long as they are ready.
	RequireHeartbeats bool
	// TerminatedPods is how many Pods that have succeeded or failed are kept. Default 12,500; -1:
	// all.
	TerminatedPods int
	// GCPeriod is the time between two looks of the Pod garbage collector. Default 20s.
	GCPeriod time.Duration
	// Quarantine is how long a Node must be gone before its Pods are deleted. Default 40s.
	Quarantine time.Duration
}

func (o Options) withDefaults() Options {
	o.MonitorPeriod = cmp.Or(o.MonitorPeriod, 5*time.Second)
	o.GracePeriod = cmp.Or(o.GracePeriod, 50*time.Second)
	o.StartupGracePeriod = cmp.Or(o.StartupGracePeriod, 60*time.Second)
	o.EvictionRate = cmp.Or(o.EvictionRate, 0.1)
	o.SecondaryEvictionRate = cmp.Or(o.SecondaryEvictionRate, 0.01)
	o.LargeZone = cmp.Or(o.LargeZone, 50)
	o.UnhealthyShare = cmp.Or(o.UnhealthyShare, 0.55)
	o.TerminatedPods = cmp.Or(o.TerminatedPods, 12_500)
	o.GCPeriod = cmp.Or(o.GCPeriod, 20*time.Second)
	o.Quarantine = cmp.Or(o.Quarantine, 40*time.Second)
	return o
}

// tick returns the first time at or after t that is a multiple of a period after start.
func tick(start, t time.Time, period time.Duration) time.Time {
	if late := t.Sub(start) % period; late > 0 {
		return t.Add(period - late)
	}
	return t
}
