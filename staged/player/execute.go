package player

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

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
	if !changed && len(stale)+len(d.Remove) == 0 {
		return false, nil
	}
	if err := p.keep(ctx, s, d); err != nil {
		return true, err
	}
	if err := p.writeStatus(ctx, name, s, d); err != nil {
		return true, err
	}
	for _, want := range stale {
		content, err := p.contentOf(ctx, s, want)
		if err != nil {
			return true, err
		}
		events, err := p.transport.Place(ctx, v, want, content)
		if err != nil {
			return true, err
		}
		s.noteWritten(want.Name, events, p.wall())
	}
	for _, old := range d.Remove {
		events, err := p.transport.Remove(ctx, v, old)
		if err != nil {
			return true, err
		}
		s.events = append(s.events, events...)
	}
	p.prune(ctx, name, s, d)
	return true, nil
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
	s.events = append(s.events, d.Events...)
	s.status, s.ours = d.Status, true
	if version := stored.GetResourceVersion(); version != s.version { // an equal version: nothing changed, no watch event follows
		s.version, s.written = version, version
		s.meta.ResourceVersion, s.meta.Annotations = version, stored.GetAnnotations()
	}
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
		if !has || s.stored[id] {
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
	unneeded := func(id fleet.RevisionID) bool { return !slices.Contains(d.Keep, id) }
	maps.DeleteFunc(s.stored, func(id fleet.RevisionID, _ bool) bool { return unneeded(id) })
	maps.DeleteFunc(s.contents, func(id fleet.RevisionID, _ fleet.Snapshot) bool { return unneeded(id) && id != s.source.cut })
	if p.options.Snapshots == nil || s.policy == nil || len(s.stored) == 0 || slices.Equal(s.kept, d.Keep) {
		return
	}
	if err := p.options.Snapshots.Prune(ctx, s.policy.Name(), d.Keep); err != nil {
		p.failed(name, fmt.Errorf("snapshots: %w", err))
		return
	}
	s.kept = slices.Clone(d.Keep)
}

// contentOf returns the content for a placement: from memory, or from the store.
func (p *Player) contentOf(ctx context.Context, s *policyState, want fleet.Placement) (fleet.Snapshot, error) {
	if content, has := s.contents[want.Revision]; has || p.options.Snapshots == nil || want.Revision == "" || !s.can.OldRevision {
		return content, nil
	}
	content, err := p.options.Snapshots.Read(ctx, s.policy.Name(), want.Revision)
	if err != nil {
		return content, fmt.Errorf("snapshot: %w", err)
	}
	s.contents[want.Revision] = content
	return content, nil
}
