package shard

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/kube/internal/lease"
)

// A session is what the goroutine of [Member.Run] knows.
//
// Safety rests on this: whoever joins lists after it has written its Lease. So of two members at
// least one finds the other when it joins; it waits until the other has written that it saw it, and
// before that the other gives up the share. From then on each has the other in its view until the
// other's Lease has not changed for its duration. By then the other has stopped by its own clock,
// and joins under another epoch.
type session struct {
	*Member
	changed func()
	random  *rand.Rand

	found    *unstructured.Unstructured // the Lease of our name as it was seen last; nil if there is none
	before   lease.Observation          // of found while somebody else holds it
	own      string                     // the epoch under which we hold it; "" if we do not
	former   string                     // the epoch under which we held it last
	renewed  time.Time                  // when the request was sent that renewed it last
	due      time.Time                  // when to renew
	others   map[string]*other          // by identity
	awaiting map[string]bool            // who has yet to see us; nil until the first look after joining
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

// turn looks at the group and writes what has to be written. Who has just joined looks again at
// once.
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

// until is when the share is lost if nothing succeeds any more. What is renewed was looked at just
// before.
func (s *session) until() time.Time { return s.renewed.Add(s.options.stopAfter()) }

// lapse notices that the share has come to its end. It is asked after each request: the answer may
// have come too late, and others may have the share by now.
func (s *session) lapse() {
	if s.own != "" && !time.Now().Before(s.until()) {
		s.lose(fmt.Errorf("could not renew its Lease for %v", s.options.stopAfter()))
	}
}

// limit gives a request its time: no longer than the share lasts, so that a request that hangs does
// not hide its end.
func (s *session) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline := time.Now().Add(s.options.requestTimeout())
	if s.own != "" {
		deadline = earliest(deadline, s.until())
	}
	return context.WithDeadline(ctx, deadline)
}

// wait waits for the next look, but not beyond the end of the share.
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
