package rehearse

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
)

// A cluster is one of the Input, with its simulation.
type cluster struct {
	Cluster
	sim      *simulation.Simulation
	latency  time.Duration
	kinds    map[staged.ObjectRef]schema.GroupVersionKind
	placed   map[staged.ObjectRef]time.Time
	sent     map[staged.ObjectRef]map[string]any // the last status on its way to the hub, or there
	mail     []letter                            // on its way, in order of time
	reported map[staged.ObjectRef]kubestellar.Report
}

// A letter is a status on its way to the hub.
type letter struct {
	due    time.Time
	ref    staged.ObjectRef
	status map[string]any
}

func newCluster(c Cluster, in Input) (*cluster, error) {
	set := in.Stages
	if set == nil {
		var err error
		if set, err = stage.Compile(stage.Options{}); err != nil {
			return nil, err
		}
	}
	c.Script = slices.Clone(c.Script)
	for i, s := range c.Script {
		status, err := clone(s.Status)
		if err != nil {
			return nil, fmt.Errorf("cluster %s: script: %w", c.Name, err)
		}
		c.Script[i].Status = status
	}
	h := fnv.New64a()
	fmt.Fprint(h, in.Seed, c.Name)
	sim, err := simulation.New(set, simulation.Options{Seed: h.Sum64(), Start: in.Start})
	return &cluster{
		Cluster: c, sim: sim, latency: in.Latency,
		kinds: map[staged.ObjectRef]schema.GroupVersionKind{}, placed: map[staged.ObjectRef]time.Time{},
		sent: map[staged.ObjectRef]map[string]any{}, reported: map[staged.ObjectRef]kubestellar.Report{},
	}, err
}

// next is when something happens here; zero if nothing will.
func (c *cluster) next() (next time.Time) {
	if at, ok := c.sim.Next(); ok {
		next = at
	}
	if len(c.mail) > 0 && (next.IsZero() || c.mail[0].due.Before(next)) {
		next = c.mail[0].due
	}
	return next
}

// advance lets time pass here, and posts what has changed.
func (c *cluster) advance(ctx context.Context, now time.Time) error {
	if err := c.sim.Advance(ctx, now.Sub(c.sim.Now())); err != nil {
		return err
	}
	for _, ref := range sorted(c.placed) {
		obj, err := c.sim.Cluster().Get(ctx, c.kinds[ref], types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		status, has := object.Map(obj.Object, "status")
		if has && !c.Silent && !reflect.DeepEqual(status, c.sent[ref]) {
			c.sent[ref] = status
			c.mail = append(c.mail, letter{now.Add(c.latency), ref, status})
		}
	}
	return nil
}

func sorted[V any](m map[staged.ObjectRef]V) []staged.ObjectRef {
	return slices.SortedFunc(maps.Keys(m), func(a, b staged.ObjectRef) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// place creates the objects that are wanted here and deletes the others.
func (c *cluster) place(ctx context.Context, r *run, wanted map[staged.ObjectRef]bool) error {
	for _, ref := range sorted(c.placed) {
		if wanted[ref] {
			continue
		}
		if err := c.remove(ctx, ref); err != nil {
			return err
		}
		r.say(Entry{Cluster: c.Name, Text: ref.String() + " is gone"})
	}
	for _, ref := range sorted(wanted) {
		if _, here := c.placed[ref]; here {
			continue
		}
		if err := c.create(ctx, ref, r.hub.objects[ref], r.now); err != nil {
			return err
		}
		r.say(Entry{Cluster: c.Name, Text: ref.String() + " arrives"})
	}
	return nil
}

func (c *cluster) create(ctx context.Context, ref staged.ObjectRef, from *unstructured.Unstructured, now time.Time) error {
	obj := from.DeepCopy()
	obj.SetUID("")
	obj.SetResourceVersion("")
	delete(obj.Object, "status")
	c.kinds[ref] = obj.GroupVersionKind()
	if _, err := c.sim.Cluster().Create(ctx, obj, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("cluster %s: %w", c.Name, err)
	}
	c.placed[ref] = now
	for _, s := range c.Script {
		c.sim.At(now.Add(s.After), func(ctx context.Context) error { return c.show(ctx, ref, s.Status, now) })
	}
	return nil
}

// show sets the status of an object, if it is still the one that the script was begun for.
func (c *cluster) show(ctx context.Context, ref staged.ObjectRef, status map[string]any, placed time.Time) error {
	if !c.placed[ref].Equal(placed) {
		return nil
	}
	cl := c.sim.Cluster()
	obj, err := cl.Get(ctx, c.kinds[ref], types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
	if err != nil {
		return err
	}
	obj.Object["status"] = status
	_, err = cl.Update(ctx, obj, metav1.UpdateOptions{}, "status")
	return err
}

func (c *cluster) remove(ctx context.Context, ref staged.ObjectRef) error {
	err := c.sim.Cluster().Delete(ctx, c.kinds[ref], types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("cluster %s: %w", c.Name, err)
	}
	delete(c.placed, ref)
	delete(c.sent, ref)
	delete(c.reported, ref)
	c.mail = slices.DeleteFunc(c.mail, func(l letter) bool { return l.ref == ref })
	return nil
}

// report delivers what is due to the hub.
func (r *run) report() {
	for _, c := range r.clusters {
		for len(c.mail) > 0 && !c.mail[0].due.After(r.now) {
			l := c.mail[0]
			c.mail = c.mail[1:]
			if _, known := r.firsts[c.Name]; !known {
				r.firsts[c.Name] = r.now.Sub(r.in.Start)
			}
			c.reported[l.ref] = kubestellar.Report{Status: l.status, LastUpdate: r.now}
		}
	}
}
