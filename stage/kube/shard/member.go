package shard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/stagecraft-go/stagecraft/stage/kube/internal/lease"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// GroupLabel is the label of the Leases of a group; its value is the name of the group.
const GroupLabel = "stagecraft-go.github.io/shard-group"

// seenAnnotation is the annotation in which a member lists the members that it has seen, as
// name=epoch,name=epoch…
const seenAnnotation = "stagecraft-go.github.io/shard-seen"

// Cluster has the Leases. It must be safe for concurrent use. List must return the newest state, not
// a cached one. kube.Cluster and memory.Cluster implement it.
type Cluster interface {
	transport.Lister
	transport.Creator
	transport.Updater
	transport.Deleter
}

// Options of [New].
type Options struct {
	// Group is the name of the group. Default "stagecraft".
	Group string
	// Identity names this member. No other process may have it at the same time. Use the name of
	// the Pod or of the host. Required.
	Identity string
	// Namespace is where the Leases are. Default "default".
	Namespace string
	// Duration is how long a member may go without renewing, in whole seconds. Default 15s.
	Duration time.Duration
	// Failed is called for requests that failed. The member tries all of them again. It is also
	// called with the reason if the member loses its share. The goroutine of Run calls it. Default:
	// no call.
	Failed func(error)
}

func (o Options) withDefaults() Options {
	o.Group = cmp.Or(o.Group, "stagecraft")
	o.Namespace = cmp.Or(o.Namespace, metav1.NamespaceDefault)
	o.Duration = cmp.Or(o.Duration, 15*time.Second)
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	return o
}

// validate returns all faults of the options.
func (o Options) validate() error {
	var faults []error
	refuse := func(field, value, why string) {
		faults = append(faults, fmt.Errorf("shard: %s %q: %s", field, value, why))
	}
	if o.Identity == "" {
		refuse("Identity", "", "required")
	}
	for _, why := range validation.IsDNS1123Subdomain(o.leaseName()) {
		refuse("Group.Identity", o.leaseName(), why)
	}
	for _, why := range validation.IsValidLabelValue(o.Group) {
		refuse("Group", o.Group, why)
	}
	if o.Duration < time.Second || o.Duration%time.Second != 0 {
		refuse("Duration", o.Duration.String(), "must be whole seconds, at least one")
	}
	return errors.Join(faults...)
}

// leaseName is the name of the member's Lease. It contains the group, because two groups may share
// a namespace.
func (o Options) leaseName() string { return o.Group + "." + cmp.Or(o.Identity, "x") }

func (o Options) term() lease.Term { return lease.Term{Holder: o.Identity, Duration: o.Duration} }

// renewEvery is how often a member renews its Lease, as a part of its duration.
func (o Options) renewEvery() time.Duration     { return o.Duration / 3 }
func (o Options) lookEvery() time.Duration      { return o.Duration / 15 }
func (o Options) stopAfter() time.Duration      { return o.Duration * 4 / 5 } // without a renewal
func (o Options) requestTimeout() time.Duration { return o.Duration / 5 }     // for one request
func (o Options) deleteAfter() time.Duration    { return o.Duration * 20 }    // after another member's Lease has expired

// Member is one process of a group. It owns nothing before [Member.Run] has joined the group, and
// nothing after Run has ended.
type Member struct {
	cluster Cluster
	options Options
	view    atomic.Pointer[view]
}

// New returns a member that is ready to run. The error lists everything that is wrong with the
// options.
func New(c Cluster, o Options) (*Member, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	return &Member{cluster: c, options: o}, nil
}

// Owns reports whether an object belongs to this member, at this moment. It costs less than a
// microsecond and allocates nothing.
func (m *Member) Owns(obj *unstructured.Unstructured) bool {
	v := m.view.Load()
	return v != nil && v.owns(hashOf(KeyOf(obj)), time.Now())
}

// Members returns the identities of the members that own objects now, as this member knows them,
// sorted; nil if it has no share itself.
func (m *Member) Members() []string {
	v := m.view.Load()
	if v == nil || !time.Now().Before(v.until) {
		return nil
	}
	return slices.Clone(v.members)
}

// Run joins the group and renews the Lease until ctx is done; then it leaves and returns the cause.
// Changed is called by the goroutine of Run whenever an answer of [Member.Owns] might have changed,
// the last time when the member has left. Failures do not end it.
func (m *Member) Run(ctx context.Context, changed func()) error {
	s := newSession(m, changed)
	for ctx.Err() == nil {
		if err := s.turn(ctx); err != nil && ctx.Err() == nil {
			m.options.Failed(err)
		}
		s.wait(ctx)
	}
	s.leave(ctx)
	return context.Cause(ctx)
}

// A view is the members of the group, as a member with a share knows them. It is immutable.
type view struct {
	members []string // sorted
	hashes  []uint64
	self    int       // place of this member
	until   time.Time // when it loses its share
}

func newView(members []string, self string, until time.Time) *view {
	v := &view{members: slices.Sorted(slices.Values(append(members, self))), until: until}
	for i, m := range v.members {
		v.hashes = append(v.hashes, hashOfMember(m))
		if m == self {
			v.self = i
		}
	}
	return v
}

// owns reports whether [Owner] returns this member.
func (v *view) owns(key uint64, now time.Time) bool {
	mine := score(key, v.hashes[v.self])
	for i, h := range v.hashes {
		if s := score(key, h); s > mine || s == mine && i < v.self {
			return false
		}
	}
	return now.Before(v.until)
}

// same reports whether all objects have the same owners in two views.
func (v *view) same(w *view) bool {
	return v == nil && w == nil || v != nil && w != nil && strings.Join(v.members, ",") == strings.Join(w.members, ",")
}
