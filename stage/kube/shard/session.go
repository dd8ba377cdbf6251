package shard

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/kube/internal/lease"
)

// A session is the state of the goroutine of [Member.Run].
//
// No two members own the same object, because a member that joins lists the Leases after it has
// written its own. So of two members that join at the same time, at least one finds the Lease of
// the other. It waits until the other has written that it saw it; the other gives up the share
// before it writes that. From then on each has the other in its view, until the other's Lease has
// not changed for its duration. By that time the other has stopped, by its own clock, and joins
// again with another epoch.
type session struct {
	*Member
	changed func()
	random  *rand.Rand

	found    *unstructured.Unstructured // the Lease with our name, as it was read last, or nil
	before   lease.Observation          // of found, while another process holds it
	own      string                     // the epoch with which we hold it; "" if we do not
	former   string                     // the epoch with which we held it last
	renewed  time.Time                  // when the last successful renewal was sent
	due      time.Time                  // when to renew
	others   map[string]*other          // by identity
	awaiting map[string]bool            // the members that have not seen us yet; nil until the first read after joining
}

// An other is another Lease of the group.
type other struct {
	lease.Observation
	lease *unstructured.Unstructured
	live  bool
}

func newSession(m *Member, changed func()) *session {
	return &session{
		Member: m, changed: changed, others: map[string]*other{},
		random: rand.New(rand.NewPCG(hashOfMember(m.options.Identity), 0)),
	}
}

// turn reads the Leases of the group and writes ours if that is necessary. A member that has just
// joined reads them again at once.
func (s *session) turn(ctx context.Context) error {
	for {
		if err := s.look(ctx); err != nil {
			return fmt.Errorf("shard: look at the Leases of %s: %w", s.options.Group, err)
		}
		if err := s.write(ctx); err != nil {
			return fmt.Errorf("shard: write Lease %s: %w", s.options.leaseName(), err)
		}
		if s.own == "" || s.awaiting != nil {
			return nil
		}
	}
}

// until is when the share ends if no further renewal succeeds. The Leases are always read just
// before a renewal.
func (s *session) until() time.Time { return s.renewed.Add(s.options.stopAfter()) }

// lapse gives up the share if it has ended. It is called after each request, because the answer may
// have come too late, when other members own the objects.
func (s *session) lapse() {
	if s.own != "" && !time.Now().Before(s.until()) {
		s.lose(fmt.Errorf("could not renew its Lease for %v", s.options.stopAfter()))
	}
}

// limit returns a context for a request that ends when the share ends, so that the end of the share
// is noticed even if the request hangs.
func (s *session) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline := time.Now().Add(s.options.requestTimeout())
	if s.own != "" {
		deadline = earliest(deadline, s.until())
	}
	return context.WithDeadline(ctx, deadline)
}

// wait waits until the next read of the Leases, or until the share ends.
func (s *session) wait(ctx context.Context) {
	now := time.Now()
	next := now.Add(s.jittered(s.options.lookEvery()))
	if s.own != "" {
		next = earliest(next, s.until())
	}
	timer := time.NewTimer(next.Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// jittered shortens a pause by up to a tenth.
func (s *session) jittered(d time.Duration) time.Duration {
	return d - time.Duration(s.random.Int64N(int64(d/10)+1))
}
