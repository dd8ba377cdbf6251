package hunt_test

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

var (
	builds   = kindOf("Build")
	previews = kindOf("Preview")
	upgrades = kindOf("Upgrade")
	attempts = kindOf("Attempt")
	rollouts = kindOf("Rollout")
	cells    = kindOf("Cell")
	buckets  = kindOf("Bucket")
)

// phaseFirst: a Task for each Build. The bug writes Pending before it makes the Task, and when it is
// Pending it only waits.
func phaseFirst(bug bool) func(*hunt.Run) {
	do := func(c client, b *object, name string) (time.Duration, error) {
		if isDeleted(b) {
			return 0, nil
		}
		made, err := c.owned(tasks, b)
		if err != nil {
			return 0, err
		}
		phase := text(b, "status", "phase")
		switch {
		case phase == "" && bug:
			set(b, "Pending", "status", "phase")
			if b, err = c.saveStatus(b); err != nil {
				return 0, err
			}
			return 0, c.ensure(part(tasks, b, name+"-build"))
		case phase == "" || phase == "Pending" && len(made) == 0 && !bug:
			if err := c.ensure(part(tasks, b, name+"-build")); err != nil || phase == "Pending" {
				return 0, err
			}
			set(b, "Pending", "status", "phase")
			return 0, c.updateStatus(b)
		case phase == "Pending" && len(made) > 0:
			set(b, "Running", "status", "phase")
			return 0, c.updateStatus(b)
		}
		return 0, nil
	}
	return func(r *hunt.Run) {
		operator(r, "operator", reconciler{kind: builds, watches: owns(tasks), do: do})
		r.Apply(`{apiVersion: example.com/v1, kind: Build, metadata: {name: a, namespace: default}, spec: {commit: abc}}`)
	}
}

// timerSetOnce: a Preview ends after its spec.ttl. The bug asks to be called again only when it starts
// the Preview.
func timerSetOnce(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		r.Process("operator", func(p *hunt.Process) []reconcile.Controller {
			x := reconciler{kind: previews, when: newGeneration, do: func(c client, v *object, name string) (time.Duration, error) {
				if isDeleted(v) {
					return 0, nil
				}
				ttl, err := time.ParseDuration(text(v, "spec", "ttl"))
				if err != nil {
					return 0, err
				}
				left := v.GetCreationTimestamp().Add(ttl).Sub(p.Now())
				if left <= 0 {
					return 0, endPreview(c, v)
				}
				if text(v, "status", "phase") == "Active" {
					if bug {
						return 0, nil
					}
					return left, nil
				}
				if err := c.ensure(part(tasks, v, name)); err != nil {
					return 0, err
				}
				set(v, "Active", "status", "phase")
				return left, c.updateStatus(v)
			}}
			return []reconcile.Controller{x.controller(p)}
		})
		preview := `{apiVersion: example.com/v1, kind: Preview, metadata: {name: %s, namespace: default}, spec: {ttl: %s}}`
		r.Apply(fmt.Sprintf(preview, "a", "4m"))
		r.At(10*time.Minute, "another", func(u *hunt.User) error { return u.Apply(fmt.Sprintf(preview, "b", "2m")) })
	}
}

// endPreview removes what a Preview has.
func endPreview(c client, v *object) error {
	task, err := c.live(tasks, v.GetName())
	if err != nil {
		return err
	}
	if task != nil && metav1.IsControlledBy(task, v) {
		if err := c.remove(task); err != nil {
			return err
		}
	}
	if text(v, "status", "phase") == "Expired" {
		return nil
	}
	set(v, "Expired", "status", "phase")
	return c.updateStatus(v)
}

const lock = "example.com/upgrade"

// lockStays: an annotation keeps two upgrades from running at once. The bug takes any for that of
// somebody else who is at work; it is removed when the upgrade ends or fails, but not after a crash.
func lockStays(bug bool) func(*hunt.Run) {
	do := func(c client, x *object, name string) (time.Duration, error) {
		if isDeleted(x) {
			return 0, nil
		}
		version := x.GetAnnotations()[lock]
		if version != "" && bug {
			return 0, nil // an upgrade is running
		}
		if version == "" && text(x, "status", "version") == text(x, "spec", "version") {
			return 0, nil
		}
		if version == "" {
			version = text(x, "spec", "version")
			set(x, version, "metadata", "annotations", lock)
			var err error
			if x, err = c.save(x); err != nil {
				return 0, err
			}
		}
		x, err := upgrade(c, x, version)
		if err != nil && !bug {
			return 0, err
		}
		unstructured.RemoveNestedField(x.Object, "metadata", "annotations", lock)
		if unlocked := c.update(x); unlocked != nil {
			return 0, unlocked
		}
		return 0, err
	}
	return func(r *hunt.Run) {
		operator(r, "operator", reconciler{kind: upgrades, do: do})
		r.Apply(`{apiVersion: example.com/v1, kind: Upgrade, metadata: {name: a, namespace: default}, spec: {version: v1}}`)
		r.At(10*time.Minute, "new version", func(u *hunt.User) error { return u.Patch(upgrades, "default/a", `{"spec":{"version":"v2"}}`) })
	}
}

// upgrade has a Task do the work, and returns the object as it is then.
func upgrade(c client, x *object, version string) (*object, error) {
	if err := c.ensure(part(tasks, x, x.GetName()+"-"+version)); err != nil {
		return x, err
	}
	if text(x, "status", "version") == version {
		return x, nil
	}
	set(x, version, "status", "version")
	saved, err := c.saveStatus(x)
	if err != nil {
		return x, err
	}
	return saved, nil
}

// failureCountedTwice: a Task may fail once; then it is made again. The bug counts a failed Task each
// time that it sees it.
func failureCountedTwice(bug bool) func(*hunt.Run) {
	do := func(c client, a *object, name string) (time.Duration, error) {
		if isDeleted(a) || text(a, "status", "phase") != "" {
			return 0, nil
		}
		found, err := c.owned(tasks, a)
		if err != nil {
			return 0, err
		}
		if len(found) == 0 {
			return 0, c.ensure(part(tasks, a, name))
		}
		task := found[0]
		switch text(task, "status", "phase") {
		case "Succeeded":
			a.Object["status"] = map[string]any{"phase": "Succeeded"}
			return 0, c.updateStatus(a)
		case "Failed":
			if counted := text(a, "status", "counted"); bug || counted != string(task.GetUID()) {
				if err := countFailure(c, a, task); err != nil {
					return 0, err
				}
			}
			return 0, c.remove(task)
		}
		return 0, nil
	}
	return func(r *hunt.Run) {
		operator(r, "operator", reconciler{kind: attempts, watches: owns(tasks), do: do})
		r.Apply(`{apiVersion: example.com/v1, kind: Attempt, metadata: {name: a, namespace: default}, spec: {limit: 1}}`)
	}
}

func countFailure(c client, a, task *object) error {
	failures := number(a, "status", "failures") + 1
	set(a, failures, "status", "failures")
	set(a, string(task.GetUID()), "status", "counted")
	if failures > number(a, "spec", "limit") {
		set(a, "Failed", "status", "phase")
	}
	return c.updateStatus(a)
}

// generationEarly: a Rollout has its two Cells take a version one after the other, and an agent has a
// Task with that version for each Cell. The bug writes observedGeneration before the work, while ready
// is still that of the version before.
func generationEarly(bug bool) func(*hunt.Run) {
	return func(r *hunt.Run) {
		operator(r, "rollout", reconciler{kind: rollouts, watches: owns(cells), do: rollOut})
		operator(r, "agent", reconciler{kind: cells, watches: owns(tasks), do: func(c client, cell *object, name string) (time.Duration, error) {
			return 0, runCell(c, cell, bug)
		}})
		r.Apply(`{apiVersion: example.com/v1, kind: Rollout, metadata: {name: a, namespace: default}, spec: {version: v1}}`)
		r.At(10*time.Minute, "new version", func(u *hunt.User) error { return u.Patch(rollouts, "default/a", `{"spec":{"version":"v2"}}`) })
		r.Always("the second Cell waits for the first", func(v *hunt.View) error {
			if v.Deleted(rollouts)+v.Deleted(cells)+v.Deleted(tasks) > 0 {
				return nil
			}
			first, second := v.Get(tasks, "default/a-0"), v.Get(cells, "default/a-1")
			if second == nil || text(second, "spec", "version") != "v2" || first != nil && text(first, "spec", "version") == "v2" {
				return nil
			}
			return errors.New("the second has v2, the first does not run it")
		})
	}
}

func rollOut(c client, ro *object, name string) (time.Duration, error) {
	if isDeleted(ro) {
		return 0, nil
	}
	found, err := c.owned(cells, ro)
	if err != nil {
		return 0, err
	}
	have := map[string]*object{}
	for _, cell := range found {
		have[cell.GetName()] = cell
	}
	version := text(ro, "spec", "version")
	for i := range 2 {
		cell := have[fmt.Sprintf("%s-%d", name, i)]
		switch {
		case cell == nil:
			cell = part(cells, ro, fmt.Sprintf("%s-%d", name, i))
			set(cell, version, "spec", "version")
			return 0, c.create(cell)
		case text(cell, "spec", "version") != version:
			set(cell, version, "spec", "version")
			return 0, c.update(cell)
		case number(cell, "status", "observedGeneration") != cell.GetGeneration() || text(cell, "status", "ready") != "yes":
			return 0, nil
		}
	}
	if text(ro, "status", "version") == version {
		return 0, nil
	}
	set(ro, version, "status", "version")
	return 0, c.updateStatus(ro)
}

func runCell(c client, cell *object, bug bool) error {
	if isDeleted(cell) {
		return nil
	}
	found, err := c.owned(tasks, cell)
	if err != nil {
		return err
	}
	current := number(cell, "status", "observedGeneration") == cell.GetGeneration()
	if bug && !current {
		set(cell, cell.GetGeneration(), "status", "observedGeneration")
		if cell, err = c.saveStatus(cell); err != nil {
			return err
		}
	}
	version := text(cell, "spec", "version")
	if len(found) == 0 {
		task := part(tasks, cell, cell.GetName())
		set(task, version, "spec", "version")
		err = c.create(task)
	} else if text(found[0], "spec", "version") != version {
		set(found[0], version, "spec", "version")
		err = c.update(found[0])
	}
	if err != nil || current && text(cell, "status", "ready") == "yes" {
		return err
	}
	set(cell, cell.GetGeneration(), "status", "observedGeneration")
	set(cell, "yes", "status", "ready")
	return c.updateStatus(cell)
}

// conflictSwallowed: a ConfigMap has the size of a Bucket, the status says so. The bug expects that
// after a conflict it is called again.
func conflictSwallowed(bug bool) func(*hunt.Run) {
	do := func(c client, b *object, name string) (time.Duration, error) {
		if isDeleted(b) {
			return 0, nil
		}
		size := text(b, "spec", "size")
		if err := writeSize(c, b, size); err != nil {
			return 0, err
		}
		if text(b, "status", "size") == size {
			return 0, nil
		}
		set(b, size, "status", "size")
		err := c.updateStatus(b)
		if bug && apierrors.IsConflict(err) {
			return 0, nil // it has changed: there is an event
		}
		return 0, err
	}
	return func(r *hunt.Run) {
		operator(r, "operator", reconciler{kind: buckets, when: newGeneration, do: do})
		r.Apply(`{apiVersion: example.com/v1, kind: Bucket, metadata: {name: a, namespace: default}, spec: {size: 1Gi}}`)
		r.At(10*time.Minute, "resize", func(u *hunt.User) error { return u.Patch(buckets, "default/a", `{"spec":{"size":"2Gi"}}`) })
	}
}

func writeSize(c client, b *object, size string) error {
	cm, err := c.live(configMaps, b.GetName())
	if err != nil {
		return err
	}
	if cm == nil {
		cm = part(configMaps, b, b.GetName())
		set(cm, size, "data", "size")
		return c.create(cm)
	}
	if !metav1.IsControlledBy(cm, b) {
		return fmt.Errorf("ConfigMap %s is not ours", cm.GetName())
	}
	if text(cm, "data", "size") == size {
		return nil
	}
	set(cm, size, "data", "size")
	return c.update(cm)
}
