package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

var (
	nodeKind = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	podKind  = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	jobKind  = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
)

// interval is the time between two Jobs.
const interval = 200 * time.Millisecond

// A cluster is a simulation with controllers.
type cluster struct {
	*memory.Cluster
	sim       *simulation.Simulation
	feeds     []*memory.Feed
	reactions map[schema.GroupVersionKind][]reaction // what controllers do about a change, in this order
	node      string                                 // that Pods are bound to; "" while no Node is Ready
	submitted bool                                   // whether the Jobs have been created
}

// A reaction is a function that a controller calls when an object changes. The object is shared and
// must not be changed.
type reaction func(ctx context.Context, event watch.EventType, obj *unstructured.Unstructured) error

// watch begins to observe the objects of some kinds.
func (c *cluster) watch(kinds ...schema.GroupVersionKind) error {
	for _, kind := range kinds {
		feed, err := c.Shared().Feed(kind, "", metav1.ListOptions{})
		if err != nil {
			return err
		}
		c.feeds = append(c.feeds, feed)
	}
	return nil
}

// submit creates the Jobs as soon as a Node is Ready, because Stages are also played on Pods
// without a Node.
func (c *cluster) submit(jobs int) reaction {
	return func(context.Context, watch.EventType, *unstructured.Unstructured) error {
		if c.node == "" || c.submitted {
			return nil
		}
		c.submitted = true
		for i := range jobs {
			c.sim.At(c.sim.Now().Add(time.Duration(i)*interval), func(ctx context.Context) error {
				return c.Load(ctx, fmt.Appendf(nil, jobYAML, i))
			})
		}
		return nil
	}
}

// run is the main loop. The controllers react to the last event, and then the time moves to the
// next event. The loop ends without a next event.
func (c *cluster) run(ctx context.Context, o options) error {
	clock := clock{speed: o.speed, real: time.Now(), virtual: c.sim.Now()}
	end := c.sim.Now().Add(o.length)
	for {
		if err := c.settle(ctx); err != nil {
			return err
		}
		at, ok := c.sim.Next()
		if !ok || at.After(end) {
			return c.requireSubmitted()
		}
		if err := clock.wait(ctx, at); err != nil {
			return err
		}
		if _, err := c.sim.Step(ctx); err != nil {
			return err
		}
	}
}

// settle lets the controllers react, also to each other, until nothing changes.
func (c *cluster) settle(ctx context.Context) error {
	for {
		e, ok := c.next()
		if !ok {
			return nil
		}
		obj, ok := e.Object.(*unstructured.Unstructured)
		if !ok {
			return errors.New("the feed has lost events")
		}
		for _, react := range c.reactions[obj.GroupVersionKind()] {
			if err := react(ctx, e.Type, obj); err != nil {
				return err
			}
		}
	}
}

func (c *cluster) next() (watch.Event, bool) {
	for _, feed := range c.feeds {
		if e, ok := feed.Next(); ok {
			return e, true
		}
	}
	return watch.Event{}, false
}

// requireSubmitted returns an error if the Jobs were never created.
func (c *cluster) requireSubmitted() error {
	if !c.submitted {
		return errors.New("no Node has become Ready by the Stages for Nodes")
	}
	return nil
}

// A clock maps virtual to real time.
type clock struct {
	speed         float64
	real, virtual time.Time // at the beginning
}

// wait waits until the real time that corresponds to at, or until ctx ends.
func (p clock) wait(ctx context.Context, at time.Time) error {
	if p.speed == 0 {
		return ctx.Err()
	}
	elapsed := time.Duration(float64(at.Sub(p.virtual)) / p.speed)
	timer := time.NewTimer(time.Until(p.real.Add(elapsed)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// decode reads the fields of an object that T has.
func decode[T any](obj *unstructured.Unstructured) (v T, err error) {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &v); err != nil {
		return v, fmt.Errorf("%s %s: %w", obj.GetKind(), nameOf(obj), err)
	}
	return v, nil
}

// timestamp is the current time in the format of objects.
func (c *cluster) timestamp() *metav1.Time {
	now := metav1.NewTime(c.sim.Now())
	return &now
}
