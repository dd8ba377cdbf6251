package hunt_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

func listOf(selector string) metav1.ListOptions { return metav1.ListOptions{LabelSelector: selector} }

func isOwned(obj, owner *object) bool { return metav1.IsControlledBy(obj, owner) }

// liveReplicas reads the number of replicas past the cache; none if the Store is gone.
func liveReplicas(c client, name string) (int64, error) {
	s, err := c.Live().Get(c.ctx, stores, types.NamespacedName{Namespace: "default", Name: name})
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return number(s, "spec", "replicas"), nil
}

// isCurrent reports a Store that is not what it was when it was read: what is not collected must not
// be made for it.
func (c client) isCurrent(s *object) error {
	now, err := c.Live().Get(c.ctx, stores, nameOf(s))
	if err == nil && (now.GetUID() != s.GetUID() || now.GetGeneration() != s.GetGeneration() || isDeleted(now)) {
		return fmt.Errorf("store %s has changed", s.GetName())
	}
	return err
}

// vaults are watches of the vaults of Stores.
func vaults() []reconcile.Watch {
	return []reconcile.Watch{{Kind: configMaps, Map: func(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
		return []types.NamespacedName{{Namespace: "default", Name: strings.TrimSuffix(ch.Object().GetName(), "-vault")}}
	}}}
}

// slowTasks adds a process that lets tasks go half a minute after their deletion.
func slowTasks(r *hunt.Run) {
	r.Process("slow", func(p *hunt.Process) []reconcile.Controller {
		return []reconcile.Controller{{Name: "slow", For: tasks, Reconcile: func(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
			c := client{p, ctx}
			task, err := c.get(tasks, q.Name.Name)
			if err != nil || task == nil || task.GetDeletionTimestamp() == nil {
				return reconcile.Result{}, err
			}
			if left := task.GetDeletionTimestamp().Add(30 * time.Second).Sub(q.Now); left > 0 {
				return reconcile.Result{After: left}, nil
			}
			task.SetFinalizers(nil)
			return reconcile.Result{}, ignoreNotFound(c.update(task))
		}}}
	})
}

// missedState: a leader belongs to a worker and is made again when that was replaced. The bug has to
// see that the worker is missing.
func missedState(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		forStore(r, "operator", owns(tasks), func(c client, s *object, _ string) error {
			worker, err := c.get(tasks, "worker")
			leader, err2 := c.get(tasks, "leader")
			switch {
			case err != nil || err2 != nil || isDeleted(s):
				return firstOf(err, func() error { return err2 })
			case leader != nil && (worker == nil || !bug && text(leader, "spec", "worker") != string(worker.GetUID())):
				return c.remove(leader)
			case worker == nil || leader != nil:
				return nil
			}
			leader = child(tasks, s, "leader")
			set(leader, string(worker.GetUID()), "spec", "worker")
			return c.ensure(leader)
		})
		forStore(r, "workers", owns(tasks), func(c client, s *object, _ string) error {
			worker, err := c.get(tasks, "worker")
			if err != nil || isDeleted(s) || worker != nil {
				return err
			}
			return c.ensure(child(tasks, s, "worker"))
		})
		r.Apply(store("{}"))
		r.At(10*time.Minute, "delete the worker", func(u *hunt.User) error { return u.Delete(tasks, "default/worker") })
	}
}

// twoSteps: a task and a claim have the size of the Store. The bug looks at the first one only.
func twoSteps(bug bool) func(*hunt.Run) {
	resize := func(c client, s, obj *object) error {
		set(obj, number(s, "spec", "size"), "spec", "size")
		return c.update(obj)
	}
	return func(r *hunt.Run) {
		forStore(r, "operator", owns(tasks, claims), func(c client, s *object, _ string) error {
			if isDeleted(s) {
				return nil
			}
			task, err := c.get(tasks, s.GetName())
			disk, err2 := c.get(claims, s.GetName())
			switch {
			case err != nil || err2 != nil:
				return firstOf(err, func() error { return err2 })
			case disk == nil:
				return c.ensure(child(claims, s, s.GetName()))
			case task == nil:
				return c.ensure(child(tasks, s, s.GetName()))
			}
			size := number(s, "spec", "size")
			small := number(task, "spec", "size") != size
			if small {
				if err := resize(c, s, task); err != nil {
					return err
				}
			}
			if bug && small || !bug && number(disk, "spec", "size") != size {
				return resize(c, s, disk)
			}
			return nil
		})
		r.Apply(store("{size: 1}"))
		r.At(10*time.Minute, "enlarge", func(u *hunt.User) error { return u.Patch(stores, "default/a", `{"spec":{"size":2}}`) })
	}
}

// vault is an object in another namespace, without an owner.
func vault(s *object) *object {
	obj := child(configMaps, s, s.GetName()+"-vault")
	obj.SetOwnerReferences(nil)
	obj.SetNamespace("kube-public")
	return obj
}

// keepsVault makes a vault for each Store and removes it at its end. The bugs are in the order of
// the steps.
func keepsVault(ignoreError, childFirst bool) func(client, *object, string) error {
	return func(c client, s *object, _ string) error {
		switch {
		case s == nil:
			return nil
		case s.GetDeletionTimestamp() != nil && len(s.GetFinalizers()) == 0:
			return nil
		case s.GetDeletionTimestamp() != nil:
			if err := c.removeByName(configMaps, "kube-public", s.GetName()+"-vault"); err != nil && !ignoreError {
				return err
			}
			s.SetFinalizers(nil)
			return ignoreNotFound(c.update(s))
		}
		if childFirst {
			if err := c.ensure(vault(s)); err != nil {
				return err
			}
		}
		if len(s.GetFinalizers()) == 0 {
			s.SetFinalizers([]string{"example.com/vault"})
			return c.update(s)
		}
		have, err := c.Get(c.ctx, configMaps, types.NamespacedName{Namespace: "kube-public", Name: s.GetName() + "-vault"})
		if have != nil || err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		return c.ensure(vault(s))
	}
}

func finalizerInSpiteOfError(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		forStore(r, "operator", vaults(), keepsVault(bug, false))
		r.Apply(store("{}"))
	}
}

func finalizerAfterChild(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		forStore(r, "operator", vaults(), keepsVault(false, bug))
		r.Apply(store("{}"))
	}
}

// cleanUpOnEvent: the bug has no finalizer, but acts when it sees that the Store is gone.
func cleanUpOnEvent(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		do, watches := keepsVault(false, false), vaults()
		if bug {
			watches = nil
			do = func(c client, s *object, name string) error {
				if s == nil {
					return c.removeByName(configMaps, "kube-public", name+"-vault")
				}
				return c.ensure(vault(s))
			}
		}
		forStore(r, "operator", watches, do)
		r.Apply(store("{}"))
	}
}

// goesOnAfterFinalizer: the bug makes children also in the reconcile that lets the Store go.
func goesOnAfterFinalizer(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		forStore(r, "operator", owns(tasks), func(c client, s *object, _ string) error {
			switch {
			case s == nil:
				return nil
			case s.GetDeletionTimestamp() != nil && len(s.GetFinalizers()) > 0:
				if err := c.removeByName(tasks, "default", s.GetName()); err != nil {
					return err
				}
				s.SetFinalizers(nil)
				if err := ignoreNotFound(c.update(s)); err != nil || !bug {
					return err
				}
			case s.GetDeletionTimestamp() != nil:
				return nil
			case len(s.GetFinalizers()) == 0:
				s.SetFinalizers([]string{"example.com/tasks"})
				return c.update(s)
			}
			return c.ensure(child(tasks, s, s.GetName()))
		})
		r.Apply(store("{}"))
	}
}

// ownerMissing: the bug makes a task without an owner.
func ownerMissing(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		forStore(r, "operator", owns(tasks), func(c client, s *object, _ string) error {
			if isDeleted(s) {
				return nil
			}
			task := child(tasks, s, s.GetName())
			if bug {
				task.SetOwnerReferences(nil)
			}
			return c.ensure(task)
		})
		r.Apply(store("{}"))
	}
}
