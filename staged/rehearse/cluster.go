package rehearse

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
)

// A cluster is a cluster of the Input, with its simulation.
type cluster struct {
	*member
	script []Status
	sim    *simulation.Simulation
	begun  map[fleet.ObjectRef]time.Time // when the version of the object came for which the script began
	due    time.Time                     // when something happens here; zero: never
}

func newCluster(c Cluster, in *Input, w workload) (*cluster, error) {
	set := in.Stages
	if set == nil || c.Script != nil {
		var err error
		if set, err = stage.Compile(stage.Options{}); err != nil {
			return nil, err
		}
	}
	h := fnv.New64a()
	fmt.Fprint(h, in.Seed, c.Name)
	o := simulation.Options{Seed: h.Sum64(), Start: in.Start, Definitions: w.definitions, Kinds: w.kinds}
	sim, err := simulation.New(set, o)
	if err != nil {
		return nil, err
	}
	m := newMember(c.Name, sim.Cluster(), cmp.Or(c.Latency, in.Latency))
	m.silent = c.Silent
	return &cluster{member: m, script: c.Script, sim: sim, begun: map[fleet.ObjectRef]time.Time{}, due: in.Start}, nil
}

// catchUp sets the clock of the cluster to now. Nothing is due there before.
func (c *cluster) catchUp(ctx context.Context, now time.Time) error {
	return c.sim.Advance(ctx, now.Sub(c.sim.Now()))
}

// advance simulates what is due, sends changed statuses to the hub, and adds to updated the objects
// whose statuses arrive there.
func (c *cluster) advance(ctx context.Context, now time.Time, updated map[fleet.ObjectRef]bool) error {
	if c.due.IsZero() || c.due.After(now) {
		return nil
	}
	c.begin()
	if err := c.sim.Advance(ctx, now.Sub(c.sim.Now())); err != nil {
		return err
	}
	if err := c.sendStatuses(ctx, now); err != nil {
		return err
	}
	for _, ref := range c.receiveStatuses(now) {
		updated[ref] = true
	}
	c.due = time.Time{}
	if at, ok := c.sim.Next(); ok {
		c.due = at
	}
	if len(c.inTransit) > 0 && (c.due.IsZero() || c.inTransit[0].due.Before(c.due)) {
		c.due = c.inTransit[0].due
	}
	return nil
}

// begin begins the script for objects that have come to the cluster, or have changed.
func (c *cluster) begin() {
	if c.script == nil {
		return
	}
	for _, ref := range c.refs() {
		p := c.created[ref]
		if c.begun[ref].Equal(p.at) {
			continue
		}
		c.begun[ref] = p.at
		for _, s := range c.script {
			if s.Kind == "" || s.Kind == p.kind.Kind {
				c.sim.At(p.at.Add(s.After), func(ctx context.Context) error { return c.show(ctx, ref, s.Status, p.at) })
			}
		}
	}
}

// show sets the status of an object, unless the object has changed since its script began, or has
// no status.
func (c *cluster) show(ctx context.Context, ref fleet.ObjectRef, status map[string]any, placed time.Time) error {
	p := c.created[ref]
	if !p.at.Equal(placed) {
		return nil
	}
	obj, err := c.sim.Cluster().Get(ctx, p.kind, nameOf(ref))
	if err == nil {
		obj.Object["status"] = status
		_, err = c.sim.Cluster().Update(ctx, obj, metav1.UpdateOptions{}, "status")
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
