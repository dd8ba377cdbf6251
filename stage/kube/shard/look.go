package shard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/kube/internal/lease"
)

// look reads the Leases of the group and updates the share.
func (s *session) look(ctx context.Context) error {
	list, err := s.list(ctx)
	s.lapse()
	if err != nil {
		return err
	}
	s.take(list.Items, time.Now())
	s.settle()
	return s.deleteExpired(ctx)
}

var errNoResult = errors.New("the cluster returned neither a result nor an error")

func (s *session) list(ctx context.Context) (*unstructured.UnstructuredList, error) {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	list, err := s.cluster.List(ctx, lease.Kind, s.options.Namespace, metav1.ListOptions{LabelSelector: GroupLabel + "=" + s.options.Group})
	if err == nil && list == nil {
		err = errNoResult
	}
	return list, err
}

// take records all Leases of the group.
func (s *session) take(leases []unstructured.Unstructured, now time.Time) {
	var found *unstructured.Unstructured
	gone := maps.Clone(s.others)
	for i := range leases {
		l := &leases[i]
		identity, ok := strings.CutPrefix(l.GetName(), s.options.Group+".")
		switch {
		case !ok:
		case identity == s.options.Identity:
			found = l
		default:
			s.see(identity, l, now)
			delete(gone, identity)
		}
	}
	for identity := range gone {
		delete(s.others, identity)
	}
	s.find(found, now)
}

func (s *session) see(identity string, l *unstructured.Unstructured, now time.Time) {
	o := s.others[identity]
	if o == nil {
		o = &other{}
		s.others[identity] = o
	}
	o.Observe(l, now)
	o.lease, o.live = l, !o.Expired(l, now)
}

// find records the Lease with our name, or nil. Another process may have deleted or acquired it.
func (s *session) find(l *unstructured.Unstructured, now time.Time) {
	s.found = l
	if s.own != "" && l == nil {
		s.lose(fmt.Errorf("somebody deleted Lease %s", s.options.leaseName()))
	}
	if s.own != "" && epochOf(l) != s.own {
		s.lose(fmt.Errorf("somebody else took Lease %s: is there another member of that name?", s.options.leaseName()))
	}
	if s.own == "" && l != nil {
		s.before.Observe(l, now)
	}
}

// settle publishes the share that follows from the Leases. A member that has joined has no share
// before all live members have seen it.
func (s *session) settle() {
	if s.own == "" {
		return
	}
	live := s.live()
	if s.awaiting == nil {
		s.awaiting = map[string]bool{}
		for _, identity := range live {
			s.awaiting[identity] = true
		}
	}
	maps.DeleteFunc(s.awaiting, func(identity string, _ bool) bool {
		o := s.others[identity]
		return o == nil || !o.live || s.isSeenBy(o)
	})
	if len(s.awaiting) == 0 {
		s.show(newView(live, s.options.Identity, s.until()))
	}
}

// lose ends the share.
func (s *session) lose(why error) {
	s.former, s.own, s.awaiting = s.own, "", nil
	s.show(nil)
	if why != nil {
		s.options.Failed(fmt.Errorf("shard: %s lost its share: %w", s.options.Identity, why))
	}
}

// show publishes a view in place of the old one, which may have expired.
func (s *session) show(v *view) {
	if old := s.view.Swap(v); !v.same(old) || old != nil && !time.Now().Before(old.until) {
		s.changed()
	}
}

// live returns the other members whose Leases have not expired, sorted.
func (s *session) live() []string {
	var live []string
	for identity, o := range s.others {
		if o.live {
			live = append(live, identity)
		}
	}
	slices.Sort(live)
	return live
}

// epochOf returns a text that differs each time that an identity acquires its Lease.
func epochOf(l *unstructured.Unstructured) string {
	return fmt.Sprintf("%s:%d", l.GetUID(), lease.Transitions(l))
}

// seen is the text about the other live members in our Lease: their names, each with its epoch.
func (s *session) seen() string {
	live := s.live()
	for i, identity := range live {
		live[i] = identity + "=" + epochOf(s.others[identity].lease)
	}
	return strings.Join(live, ",")
}

func (s *session) isSeenBy(o *other) bool {
	seen := strings.Split(o.lease.GetAnnotations()[seenAnnotation], ",")
	return slices.Contains(seen, s.options.Identity+"="+s.own)
}

// deleteExpired deletes the Leases of members that ended long ago. Errors are ignored, because
// other members try it too. A member that comes back creates its Lease again.
func (s *session) deleteExpired(ctx context.Context) error {
	now := time.Now()
	for _, o := range s.others {
		if s.own == "" || o.live || now.Before(o.Expires(o.lease).Add(s.options.deleteAfter())) {
			continue
		}
		if err := s.remove(ctx, o.lease); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

// remove deletes a Lease if it has not changed since it was read.
func (s *session) remove(ctx context.Context, l *unstructured.Unstructured) error {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	uid, version := l.GetUID(), l.GetResourceVersion()
	o := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}}
	return s.cluster.Delete(ctx, lease.Kind, types.NamespacedName{Namespace: l.GetNamespace(), Name: l.GetName()}, o)
}
