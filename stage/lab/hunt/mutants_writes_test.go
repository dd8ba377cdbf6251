package hunt_test

import (
	"context"
	"errors"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// force gives an object that was read from the cache the version that is stored.
func (c client) force(s *object) {
	if now, err := c.Live().Get(c.ctx, stores, nameOf(s)); err == nil {
		s.SetResourceVersion(now.GetResourceVersion())
	}
}

// statusOverwrites: a user notes something in the status. The bug writes the status that it has
// read, whatever happened since.
func statusOverwrites(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		forStore(r, "operator", nil, func(c client, s *object, _ string) error {
			if isDeleted(s) || text(s, "status", "version") == text(s, "spec", "version") {
				return nil
			}
			set(s, text(s, "spec", "version"), "status", "version")
			if bug {
				c.force(s)
			}
			return ignoreNotFound(c.updateStatus(s))
		})
		r.Apply(store("{version: one}"))
		r.At(10*time.Minute, "next version and a note", func(u *hunt.User) error {
			if err := u.Patch(stores, "default/a", `{"spec":{"version":"two"}}`); err != nil {
				return err
			}
			status := []byte(`{"status":{"note":"mine"}}`)
			_, err := u.Cluster().Patch(context.Background(), stores, types.NamespacedName{Namespace: "default", Name: "a"}, types.MergePatchType, status, metav1.PatchOptions{}, "status")
			return err
		})
	}
}

// updateWithoutVersion: the bug writes the whole object that it has read, whatever happened since.
func updateWithoutVersion(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		forStore(r, "operator", nil, func(c client, s *object, _ string) error {
			if isDeleted(s) || text(s, "spec", "size") != "" {
				return nil
			}
			set(s, "small", "spec", "size")
			if bug {
				c.force(s)
			}
			return ignoreNotFound(c.update(s))
		})
		r.Apply(store("{version: one}"))
	}
}

// errorSwallowed: the bug takes any error of a creation for success.
func errorSwallowed(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		forStore(r, "operator", owns(tasks), func(c client, s *object, _ string) error {
			if isDeleted(s) {
				return nil
			}
			if err := c.ensure(child(tasks, s, s.GetName())); err != nil && !bug {
				return err
			}
			return nil
		})
		r.Apply(store("{}"))
	}
}

// alreadyExistsFails: the bug gives up for good when the task is there.
func alreadyExistsFails(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		forStore(r, "operator", owns(tasks), func(c client, s *object, _ string) error {
			if isDeleted(s) || text(s, "status", "phase") != "" {
				return nil
			}
			task, err := c.get(tasks, s.GetName())
			if err != nil {
				return err
			}
			if create := c.ensure; task == nil {
				if bug {
					create = c.create
				}
				err = create(child(tasks, s, s.GetName()))
			}
			phase := "Running"
			switch {
			case apierrors.IsAlreadyExists(err) && bug:
				phase = "Failed"
			case err != nil:
				return err
			case task != nil && !isOwned(task, s):
				return errForeign
			}
			set(s, phase, "status", "phase")
			return c.updateStatus(s)
		})
		r.Apply(store("{}"))
	}
}

var errForeign = errors.New("the task is that of another Store")

// notFoundIsDone: a task runs once. The bug takes a task that its cache does not have for one that
// has ended.
func notFoundIsDone(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		forStore(r, "operator", owns(tasks), func(c client, s *object, _ string) error {
			if isDeleted(s) || text(s, "status", "phase") == "Done" {
				return nil
			}
			task, err := c.get(tasks, s.GetName())
			switch {
			case err != nil:
				return err
			case task != nil && !bug && !isOwned(task, s):
				return errForeign
			case task != nil && text(s, "status", "phase") == "":
				set(s, "Created", "status", "phase")
			case task != nil:
				return nil
			case text(s, "status", "phase") == "" || !bug:
				if err := c.ensure(child(tasks, s, s.GetName())); err != nil || text(s, "status", "phase") != "" {
					return err
				}
				set(s, "Created", "status", "phase")
			default:
				set(s, "Done", "status", "phase")
			}
			return c.updateStatus(s)
		})
		r.Apply(store("{}"))
	}
}

// watchMissing: the status has what a ConfigMap says. The bug does not watch it.
func watchMissing(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		watches := []reconcile.Watch{{Kind: configMaps, Map: func(*reconcile.Cache, reconcile.Change) []types.NamespacedName {
			return []types.NamespacedName{{Namespace: "default", Name: "a"}}
		}}}
		if bug {
			watches = nil
		}
		forStore(r, "operator", watches, func(c client, s *object, _ string) error {
			settings, err := c.get(configMaps, "settings")
			color := "none"
			if settings != nil {
				color = text(settings, "data", "color")
			}
			if err != nil || isDeleted(s) || text(s, "status", "color") == color {
				return err
			}
			set(s, color, "status", "color")
			return c.updateStatus(s)
		})
		r.Apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: default}, data: {color: red}}`, store("{}"))
		r.At(10*time.Minute, "repaint", func(u *hunt.User) error { return u.Patch(configMaps, "default/settings", `{"data":{"color":"blue"}}`) })
	}
}

// hotLoop: the bug counts its reconciles in the status.
func hotLoop(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		forStore(r, "operator", nil, func(c client, s *object, _ string) error {
			if isDeleted(s) || text(s, "status", "seen") == "1" && !bug {
				return nil
			}
			n, _ := strconv.Atoi(text(s, "status", "seen"))
			set(s, strconv.Itoa(n+1), "status", "seen")
			return c.updateStatus(s)
		})
		r.Apply(store("{}"))
	}
}

// memoryInsteadOfState: the bug remembers in a map for which Stores it has made a task.
func memoryInsteadOfState(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		r.Process("operator", func(p *hunt.Process) []reconcile.Controller {
			done := map[types.UID]bool{}
			return []reconcile.Controller{storeController(p, owns(tasks), func(c client, s *object, _ string) error {
				if isDeleted(s) || bug && done[s.GetUID()] {
					return nil
				}
				task := child(tasks, s, s.GetName())
				if bug {
					nameless(task)
				}
				if err := c.ensure(task); err != nil {
					return err
				}
				done[s.GetUID()] = true
				return nil
			})}
		})
		r.Apply(store("{}"))
	}
}

// cacheMutated: the bug changes the object that is in its cache, and finds it changed when the write
// has failed.
func cacheMutated(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		r.Process("operator", func(p *hunt.Process) []reconcile.Controller {
			return []reconcile.Controller{{Name: "store", For: stores, Reconcile: func(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
				s := q.Cache.Get(stores, q.Name)
				if isDeleted(s) || text(s, "spec", "size") != "" {
					return reconcile.Result{}, nil
				}
				if !bug {
					s = s.DeepCopy()
				}
				set(s, "small", "spec", "size")
				return reconcile.Result{}, client{p, ctx}.update(s)
			}}}
		})
		r.Apply(store("{}"))
	}
}
