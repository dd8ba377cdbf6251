package shard

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/kube/internal/lease"
)

// manager is the field manager of what a member writes.
const manager = "stagecraft"

// write writes our Lease if a renewal is due, or if it does not list the members that we have seen.
func (s *session) write(ctx context.Context) error {
	now := time.Now()
	switch {
	case s.own == "":
		return s.join(ctx, now)
	case !now.Before(s.due) || s.seen() != s.found.GetAnnotations()[seenAnnotation]:
		return s.renew(ctx, now)
	}
	return nil
}

// join acquires the Lease with our name if it does not exist, if we held it before, or if its
// holder has not renewed it in time.
func (s *session) join(ctx context.Context, now time.Time) error {
	term := s.options.term()
	switch {
	case s.found == nil:
		l := lease.New(s.options.Namespace, s.options.leaseName())
		return s.joined(s.send(ctx, now, term.Acquired(l, now), s.create))
	case epochOf(s.found) == s.former || s.before.Expired(s.found, now):
		return s.joined(s.send(ctx, now, term.Acquired(s.found, now), s.update))
	}
	return nil
}

func (s *session) joined(err error) error {
	if err == nil {
		s.own, s.awaiting = epochOf(s.found), nil
	}
	return err
}

func (s *session) renew(ctx context.Context, now time.Time) error {
	err := s.send(ctx, now, s.options.term().Renewed(s.found, now), s.update)
	if err == nil {
		s.settle() // the share lasts longer now
	}
	return err
}

type request func(context.Context, *unstructured.Unstructured) (*unstructured.Unstructured, error)

func (s *session) create(ctx context.Context, l *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return s.cluster.Create(ctx, l, metav1.CreateOptions{FieldManager: manager})
}

func (s *session) update(ctx context.Context, l *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return s.cluster.Update(ctx, l, metav1.UpdateOptions{FieldManager: manager})
}

// send writes our Lease and records the result. The duration of the share counts from the time at
// which the request was sent, not from the answer.
func (s *session) send(ctx context.Context, now time.Time, l *unstructured.Unstructured, do request) error {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	setEntry(l.GetLabels(), l.SetLabels, GroupLabel, s.options.Group)
	setEntry(l.GetAnnotations(), l.SetAnnotations, seenAnnotation, s.seen())
	stored, err := do(ctx, l)
	s.lapse()
	if err == nil && stored == nil {
		err = errNoResult
	}
	if err != nil {
		return err
	}
	s.found, s.renewed, s.due = stored, now, now.Add(s.jittered(s.options.renewEvery()))
	return nil
}

func setEntry(m map[string]string, set func(map[string]string), key, value string) {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	set(m)
}

// leave gives up the share and deletes the Lease, so that no other member has to wait until it
// expires.
func (s *session) leave(ctx context.Context) {
	if s.own == "" {
		return
	}
	s.lose(nil)
	if err := s.remove(context.WithoutCancel(ctx), s.found); err != nil {
		s.options.Failed(err)
	}
}
