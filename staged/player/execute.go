package player

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// carryOut writes what a decision says, in its order, and stops at the first failure. It reports
// whether it tried to write anything.
func (p *Player) carryOut(ctx context.Context, name string, s *policyState, d staged.Decision) (changed bool, err error) {
	v := s.view(p.now())
	var stale []fleet.Placement
	if s.policy != nil {
		for _, want := range d.Place {
			if p.transport.Differs(v, want) {
				stale = append(stale, want)
			}
		}
	}
	// The status is written before anything else is, even if it has not changed: nothing may be
	// created, updated or removed on a status that is not the newest.
	changed = !reflect.DeepEqual(d.Status, s.status)
	finalizer := d.Finalizer == slices.Contains(s.meta.Finalizers, v1alpha1.Finalizer)
	if !changed && finalizer && len(stale)+len(d.Remove)+len(d.Disown) == 0 && d.Restore == "" {
		return false, nil
	}
	if err := p.keep(ctx, s, d); err != nil {
		return true, err
	}
	if err := p.writeStatus(ctx, name, s, d); err != nil {
		return true, err
	}
	if d.Finalizer {
		if err := p.setFinalizer(ctx, name, s, true); err != nil {
			return true, err
		}
	}
	if err := p.placeAndRemove(ctx, s, v, stale, d); err != nil {
		return true, err
	}
	if err := p.restore(ctx, s, d.Restore); err != nil {
		return true, err
	}
	p.prune(ctx, name, s, d)
	if d.Finalizer {
		return true, nil
	}
	return true, p.setFinalizer(ctx, name, s, false)
}

// placeAndRemove makes placements, takes off owner references, and removes placements. A placement that cannot be
// made keeps no other one from that, and nothing is removed then.
func (p *Player) placeAndRemove(ctx context.Context, s *policyState, v View, stale []fleet.Placement, d staged.Decision) (err error) {
	for _, want := range stale {
		events, e := p.transport.Place(ctx, v, want, s.contents[want.Revision])
		s.noteWritten(want.Name, events, p.wall())
		err = errors.Join(err, e)
	}
	if err != nil {
		return err
	}
	for _, name := range d.Disown {
		if err := p.transport.Disown(ctx, v, name); err != nil {
			return err
		}
	}
	for _, old := range d.Remove {
		events, err := p.transport.Remove(ctx, v, old)
		if err != nil {
			return err
		}
		s.events = append(s.events, events...)
	}
	return nil
}

// setFinalizer adds the finalizer to a StagedBindingPolicy, or takes it off.
func (p *Player) setFinalizer(ctx context.Context, name string, s *policyState, want bool) error {
	if want == slices.Contains(s.meta.Finalizers, v1alpha1.Finalizer) {
		return nil
	}
	finalizers := slices.DeleteFunc(slices.Clone(s.meta.Finalizers), func(f string) bool { return f == v1alpha1.Finalizer })
	if want {
		finalizers = append(finalizers, v1alpha1.Finalizer)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": s.version, "uid": s.uid, "finalizers": finalizers}})
	if err != nil {
		return err
	}
	stored, err := p.hub.Patch(ctx, stagedPolicyKind, types.NamespacedName{Name: name}, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("finalizer: %w", err)
	}
	s.meta.Finalizers = finalizers
	s.noteStored(stored)
	return nil
}

// writeStatus writes the status. It fails with a conflict if somebody has written the object since
// it was read.
func (p *Player) writeStatus(ctx context.Context, name string, s *policyState, d staged.Decision) error {
	fields, err := statusPatch(s.status, d.Status)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": s.version, "uid": s.uid},
		"status":   fields,
	})
	if err != nil {
		return err
	}
	sent := p.wall()
	stored, err := p.hub.Patch(ctx, stagedPolicyKind, types.NamespacedName{Name: name}, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return err
	}
	p.clock.calibrate(stored, s.version, sent, p.wall())
	s.addStageEvents(s.status, d.Status)
	p.noteConflicts(s.status, d.Status)
	s.events = append(s.events, d.Events...)
	s.status, s.ours = d.Status, true
	s.noteStored(stored)
	return nil
}

// statusPatch returns the merge patch that makes a status of an old one: fields that are absent now
// are removed.
func statusPatch(old, now v1alpha1.Status) (map[string]any, error) {
	before, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&old)
	if err != nil {
		return nil, err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&now)
	if err != nil {
		return nil, err
	}
	for name := range before {
		if _, stays := fields[name]; !stays {
			fields[name] = nil
		}
	}
	return fields, nil
}

// keep stores the snapshots that a decision needs and that are not stored yet.
func (p *Player) keep(ctx context.Context, s *policyState, d staged.Decision) error {
	if p.options.Snapshots == nil {
		return nil
	}
	for _, id := range d.Keep {
		content, has := s.contents[id]
		named := slices.ContainsFunc(s.status.Revisions, func(r v1alpha1.Revision) bool { return r.ID == string(id) })
		if !has || s.stored[id] && named { // another Player may have removed the snapshot of an unnamed revision
			continue
		}
		if err := p.options.Snapshots.Write(ctx, s.policy.Name(), s.uid, content); err != nil {
			return fmt.Errorf("snapshot: %w", err)
		}
		s.stored[id] = true
	}
	return nil
}

// prune forgets the snapshots that the status that was written does not name. A failure is tried again
// with the next decision that needs other snapshots: it does not hold up the rollout.
func (p *Player) prune(ctx context.Context, name string, s *policyState, d staged.Decision) {
	if s.policy == nil || d.Keep == nil {
		return
	}
	unneeded := func(id fleet.RevisionID) bool { return !slices.Contains(d.Keep, id) }
	maps.DeleteFunc(s.stored, func(id fleet.RevisionID, _ bool) bool { return unneeded(id) })
	maps.DeleteFunc(s.contents, func(id fleet.RevisionID, _ fleet.Snapshot) bool { return unneeded(id) && id != s.source.cut })
	if p.options.Snapshots == nil || len(s.stored) == 0 || slices.Equal(s.kept, d.Keep) {
		return
	}
	if err := p.options.Snapshots.Prune(ctx, s.policy.Name(), d.Keep); err != nil {
		p.failed(name, fmt.Errorf("snapshots: %w", err))
		return
	}
	s.kept = slices.Clone(d.Keep)
}

// load reads the snapshots of the revisions that a status names, which another Player has stored.
func (p *Player) load(ctx context.Context, name string, s *policyState) {
	for _, r := range s.status.Revisions {
		id := fleet.RevisionID(r.ID)
		if _, has := s.contents[id]; has || p.options.Snapshots == nil || s.missing[id] {
			continue
		}
		content, err := p.options.Snapshots.Read(ctx, s.policy.Name(), id)
		switch {
		case err == nil:
			s.contents[id], s.stored[id] = content, true
		case apierrors.IsNotFound(err):
			s.missing[id] = true
		default:
			p.failed(name, fmt.Errorf("snapshot: %w", err))
		}
	}
}
