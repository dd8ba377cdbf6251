package hunt_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
)

// randomChildName: a task for each Store. The bug generates its name, the list may be stale.
func randomChildName(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		forStore(r, "operator", owns(tasks), func(c client, s *object, _ string) error {
			if isDeleted(s) {
				return nil
			}
			found, err := c.owned(tasks, s)
			if err != nil {
				return err
			}
			task := child(tasks, s, s.GetName())
			if bug {
				nameless(task)
			}
			if len(found) == 0 {
				if err := c.ensure(task); err != nil {
					return err
				}
			}
			if text(s, "status", "phase") == "Running" {
				return nil
			}
			set(s, "Running", "status", "phase")
			return c.updateStatus(s)
		})
		r.Apply(store("{backup: monday}"))
	}
}

// statusAsMemory: a task for each backup. The bug has only the status to know that it was made.
func statusAsMemory(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		forStore(r, "operator", owns(tasks), func(c client, s *object, _ string) error {
			if isDeleted(s) || text(s, "status", "last") == text(s, "spec", "backup") {
				return nil
			}
			task := child(tasks, s, s.GetName()+"-"+text(s, "spec", "backup"))
			if bug {
				nameless(task)
			} else if now, err := c.Live().Get(c.ctx, stores, nameOf(s)); err != nil || text(now, "status", "last") == text(s, "spec", "backup") {
				return ignoreNotFound(err) // the cache can be behind the own status, and others may delete a Task that was made
			}
			if err := c.ensure(task); err != nil {
				return err
			}
			set(s, text(s, "spec", "backup"), "status", "last")
			return c.updateStatus(s)
		})
		r.Apply(store("{backup: monday}"))
		r.At(10*time.Minute, "next backup", func(u *hunt.User) error { return u.Patch(stores, "default/a", `{"spec":{"backup":"tuesday"}}`) })
	}
}

// scale makes tasks with the numbers below spec.replicas and removes those above.
func scale(c client, s *object, found []*object) error {
	for i := range number(s, "spec", "replicas") {
		name := fmt.Sprintf("%s-%d", s.GetName(), i)
		if !slices.ContainsFunc(found, func(t *object) bool { return t.GetName() == name }) {
			if err := c.ensure(child(tasks, s, name)); err != nil {
				return err
			}
		}
	}
	for _, t := range found {
		var i int64
		if _, err := fmt.Sscanf(t.GetName(), s.GetName()+"-%d", &i); err == nil && i >= number(s, "spec", "replicas") && !isDeleted(t) {
			if err := c.remove(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// countFromList: as many tasks as replicas. The bug makes as many as the list lacks.
func countFromList(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		forStore(r, "operator", owns(tasks), func(c client, s *object, _ string) error {
			if isDeleted(s) {
				return nil
			}
			found, err := c.owned(tasks, s)
			if err != nil || !bug {
				return firstOf(err, func() error { return scale(c, s, found) })
			}
			for range number(s, "spec", "replicas") - int64(len(found)) {
				if err := c.create(nameless(child(tasks, s, s.GetName()))); err != nil {
					return err
				}
			}
			for i := number(s, "spec", "replicas"); i < int64(len(found)); i++ {
				if err := c.remove(found[i]); err != nil {
					return err
				}
			}
			return nil
		})
		r.Apply(store("{replicas: 3}"))
	}
}

func firstOf(err error, do func() error) error {
	if err != nil {
		return err
	}
	return do()
}

// randomVictim: as many tasks as replicas. The bug removes any of the surplus ones.
func randomVictim(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		calls := 0
		forStore(r, "operator", owns(tasks), func(c client, s *object, _ string) error {
			if isDeleted(s) {
				return nil
			}
			found, err := c.owned(tasks, s)
			surplus := int64(len(found)) - number(s, "spec", "replicas")
			if err != nil || !bug || surplus <= 0 {
				return firstOf(err, func() error { return scale(c, s, found) })
			}
			for range surplus {
				calls++
				if err := c.remove(found[calls%len(found)]); err != nil {
					return err
				}
			}
			return nil
		})
		r.Apply(store("{replicas: 4}"))
		r.At(10*time.Minute, "scale down", func(u *hunt.User) error { return u.Patch(stores, "default/a", `{"spec":{"replicas":3}}`) })
	}
}

// claim returns a claim of a Store, which outlives it.
func claim(s *object, i int64) *object {
	obj := child(claims, s, fmt.Sprintf("%s-%d", s.GetName(), i))
	obj.SetOwnerReferences(nil)
	obj.SetLabels(map[string]string{"store": s.GetName(), "uid": string(s.GetUID())})
	return obj
}

// provisions makes the claims below spec.replicas.
func provisions(c client, s *object, _ string) error {
	if isDeleted(s) {
		return nil
	}
	for i := range max(number(s, "spec", "replicas"), 1) {
		have, err := c.get(claims, fmt.Sprintf("%s-%d", s.GetName(), i))
		switch {
		case err != nil:
			return err
		case have != nil && have.GetLabels()["uid"] == string(s.GetUID()):
		case len(s.GetFinalizers()) == 0:
			return addFinalizer(c, s) // without it the claim would stay
		case have != nil:
			return firstOf(c.isCurrent(s), func() error { return c.remove(have) })
		default:
			if err := c.isCurrent(s); err != nil {
				return err
			}
			if err := c.ensure(claim(s, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// claimsOf returns the claims with the label of a Store.
func claimsOf(c client, s *object) (found []*object, err error) {
	list, err := c.List(c.ctx, claims, "default", listOf("store="+s.GetName()))
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		found = append(found, &list.Items[i])
	}
	return found, nil
}

func addFinalizer(c client, s *object) error {
	if len(s.GetFinalizers()) > 0 {
		return nil
	}
	s.SetFinalizers([]string{"example.com/claims"})
	return ignoreNotFound(c.update(s))
}

// removeClaims removes the claims of a Store that is being deleted, or all with its name, and lets it
// go.
func removeClaims(c client, s *object, all bool) error {
	found, err := claimsOf(c, s)
	if err == nil && !all {
		found, err = claimsNow(c, s) // one that the cache lacks would stay
	}
	if err != nil {
		return err
	}
	for _, claim := range found {
		if all || claim.GetLabels()["uid"] == string(s.GetUID()) {
			if err := c.remove(claim); err != nil {
				return err
			}
		}
	}
	if len(s.GetFinalizers()) == 0 {
		return nil
	}
	s.SetFinalizers(nil)
	return ignoreNotFound(c.update(s))
}

func claimsNow(c client, s *object) (found []*object, err error) {
	list, err := c.Live().List(c.ctx, claims, "default", listOf("store="+s.GetName()))
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		found = append(found, &list.Items[i])
	}
	return found, nil
}

func ordinal(obj *object) (i int64) {
	_, _ = fmt.Sscanf(obj.GetName(), "a-%d", &i)
	return i
}

// staleDeletion: one process makes claims, another removes those of a Store that is being deleted.
// The bug takes those with its name for its own.
func staleDeletion(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		forStore(r, "provisioner", follows(claims), provisions)
		forStore(r, "cleaner", follows(claims), func(c client, s *object, _ string) error {
			switch {
			case s == nil:
				return nil
			case s.GetDeletionTimestamp() == nil:
				return addFinalizer(c, s)
			}
			return removeClaims(c, s, bug)
		})
		r.Apply(store("{replicas: 1}"))
		r.At(10*time.Minute, "re-create", func(u *hunt.User) error { return u.Recreate(stores, "default/a") })
	}
}

// uidUnchecked: a task that somebody's finalizer holds for a while after its deletion. The bug takes
// the old one for its own.
func uidUnchecked(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		forStore(r, "operator", owns(tasks), func(c client, s *object, _ string) error {
			if isDeleted(s) || text(s, "status", "task") != "" {
				return nil
			}
			task, err := c.get(tasks, s.GetName())
			switch {
			case err != nil:
				return err
			case task == nil:
				task = child(tasks, s, s.GetName())
				task.SetFinalizers([]string{"example.com/slow"})
				if bug {
					return c.ensure(task)
				}
				now, err := c.Live().Get(c.ctx, stores, nameOf(s)) // the cache can be behind the own status
				if err != nil || now.GetResourceVersion() != s.GetResourceVersion() {
					return firstOf(err, func() error { return fmt.Errorf("store %s has changed", s.GetName()) })
				}
				return c.ensure(task)
			case !bug && !isOwned(task, s):
				return fmt.Errorf("task %s is still that of another Store", task.GetName())
			}
			set(s, string(task.GetUID()), "status", "task")
			return c.updateStatus(s)
		})
		slowTasks(r)
		r.Apply(store("{}"))
		r.At(10*time.Minute, "delete", func(u *hunt.User) error { return u.Delete(stores, "default/a") })
		r.At(20*time.Minute, "create again", func(u *hunt.User) error { return u.Recreate(stores, "default/a") })
	}
}

// deleteUnconditionally: one process removes the task of an old version, another makes it again. The
// bug deletes by name.
func deleteUnconditionally(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		forStore(r, "remover", owns(tasks), func(c client, s *object, _ string) error {
			task, err := c.get(tasks, "a")
			switch {
			case err != nil || isDeleted(s) || isDeleted(task) || text(task, "spec", "version") == text(s, "spec", "version"):
				return err
			case bug:
				return c.removeByName(tasks, "default", task.GetName())
			}
			return firstOf(c.isCurrent(s), func() error { return c.remove(task) })
		})
		forStore(r, "maker", owns(tasks), func(c client, s *object, _ string) error {
			task, err := c.get(tasks, "a")
			switch {
			case err != nil || isDeleted(s):
				return err
			case task == nil:
				task = child(tasks, s, s.GetName())
				set(task, text(s, "spec", "version"), "spec", "version")
				return firstOf(c.isCurrent(s), func() error { return c.ensure(task) })
			case text(s, "status", "version") == text(task, "spec", "version"):
				return nil
			}
			set(s, text(task, "spec", "version"), "status", "version")
			return c.updateStatus(s)
		})
		r.Apply(store("{version: one}"))
		r.At(10*time.Minute, "next version", func(u *hunt.User) error { return u.Patch(stores, "default/a", `{"spec":{"version":"two"}}`) })
	}
}

// scaleDownStale: one process makes claims, another removes those beyond replicas. The bug believes
// its cache.
func scaleDownStale(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		forStore(r, "provisioner", follows(claims), provisions)
		forStore(r, "cleaner", follows(claims), func(c client, s *object, name string) error {
			if s == nil {
				return nil
			}
			if s.GetDeletionTimestamp() != nil {
				return removeClaims(c, s, false)
			}
			if err := addFinalizer(c, s); err != nil {
				return err
			}
			found, err := claimsOf(c, s)
			if err != nil {
				return err
			}
			for _, claim := range found {
				i := ordinal(claim)
				if i < number(s, "spec", "replicas") || isDeleted(claim) {
					continue
				}
				if !bug {
					if wanted, err := liveReplicas(c, name); err != nil || i < wanted {
						return err
					}
				}
				if err := c.remove(claim); err != nil {
					return err
				}
			}
			return nil
		})
		r.Apply(store("{replicas: 3}"))
		r.At(10*time.Minute, "scale down", func(u *hunt.User) error { return u.Patch(stores, "default/a", `{"spec":{"replicas":2}}`) })
		r.At(20*time.Minute, "scale up", func(u *hunt.User) error { return u.Patch(stores, "default/a", `{"spec":{"replicas":3}}`) })
	}
}
