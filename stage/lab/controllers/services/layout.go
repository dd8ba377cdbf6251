package services

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// A layout is which Pods of a Service are in which slices. It follows the changes of Pods, so that not
// all of them have to be read again.
type layout struct {
	service *unstructured.Unstructured // the state that it was made for
	publish bool                       // of the Service: Pods that are not ready are listed as ready
	members map[string]*member         // by name of the Pod
	groups  []*portGroup
	changed map[string]bool // Pods that have changed
	rewrite bool            // the Endpoints may differ
}

// A member is a Pod of a Service that is listed.
type member struct {
	name              string
	group             *portGroup
	slice             *slice         // nil if it is in none yet
	endpoint, address map[string]any // in a slice, and in the Endpoints; they are never changed
	ready             bool           // among the addresses of the Endpoints
	terminating       bool
}

// A portGroup is the Pods of a Service that have the same ports: a named port can be a different
// number in each Pod.
type portGroup struct {
	ports   []any
	members []*member // by name
	left    []*member // that are in no slice yet
	slices  []*slice
}

// A slice is an EndpointSlice.
type slice struct {
	stored  *unstructured.Unstructured // nil before it is created
	members []*member                  // by name
	dirty   bool                       // the stored slice has other members
}

func newLayout(service *unstructured.Unstructured) *layout {
	return &layout{
		service: service, publish: fields.Bool(service.Object, "spec", "publishNotReadyAddresses"),
		members: map[string]*member{}, changed: map[string]bool{}, rewrite: true,
	}
}

// readLayout makes the layout of a Service from the Pods that it selects, and from its slices.
func readLayout(c control.Call, service *unstructured.Unstructured, selected []pods.Pod) *layout {
	l := newLayout(service)
	for _, p := range selected {
		l.put(p)
	}
	for _, stored := range c.Cache.Owned(kinds.EndpointSlice, service.GetUID()) {
		if !fields.IsTerminating(stored) {
			l.readSlice(stored)
		}
	}
	return l
}

// readSlice takes in a stored slice: the Pods that it has stay there.
func (l *layout) readSlice(stored *unstructured.Unstructured) {
	s := &slice{stored: stored, dirty: len(changedLabels(stored, sliceLabels(l.service))) > 0}
	ports := fields.Slice(stored.Object, "ports")
	g := l.groupOf(ports)
	g.slices = append(g.slices, s)
	list := fields.Maps(stored.Object, "endpoints")
	for _, e := range list {
		m := l.members[fields.String(e, "targetRef", "name")]
		if m == nil || m.group != g || m.slice != nil || len(s.members) == largestSlice {
			s.dirty = true
			continue
		}
		s.insert(m)
		s.dirty = s.dirty || !object.DeepEqual(e, m.endpoint)
	}
}

func (l *layout) groupOf(ports []any) *portGroup {
	for _, g := range l.groups {
		if object.DeepEqual(g.ports, ports) || len(g.ports)+len(ports) == 0 {
			return g
		}
	}
	g := &portGroup{ports: ports}
	l.groups = append(l.groups, g)
	return g
}

// put takes in a state of a Pod that the Service selects.
func (l *layout) put(p pods.Pod) {
	if podIP(p) == "" || p.IsTerminal() {
		l.remove(p.GetName())
		return
	}
	next := &member{
		name: p.GetName(), endpoint: endpoint(l.service, p, l.publish), address: address(l.service, p),
		ready: l.publish || p.IsReady() && !p.IsTerminating(), terminating: p.IsTerminating(),
	}
	ports := portsOf(l.service, p)
	m := l.members[next.name]
	if m != nil && (object.DeepEqual(m.group.ports, ports) || len(m.group.ports)+len(ports) == 0) {
		l.change(m, next)
		return
	}
	l.remove(next.name)
	next.group = l.groupOf(ports)
	next.group.members, next.group.left = insertMember(next.group.members, next), append(next.group.left, next)
	l.members[next.name], l.rewrite = next, true
}

// change takes in the new state of a Pod whose ports are the same.
func (l *layout) change(m, next *member) {
	if object.DeepEqual(m.endpoint, next.endpoint) {
		return
	}
	if m.endpoint, m.ready, m.terminating, l.rewrite = next.endpoint, next.ready, next.terminating, true; m.slice != nil {
		m.slice.dirty = true
	}
	if !object.DeepEqual(m.address, next.address) {
		m.address = next.address
	}
}

// remove takes out a Pod.
func (l *layout) remove(name string) {
	m := l.members[name]
	if m == nil {
		return
	}
	delete(l.members, name)
	l.rewrite = true
	m.group.members = removeMember(m.group.members, m)
	if m.slice != nil {
		m.slice.members, m.slice.dirty = removeMember(m.slice.members, m), true
	}
	m.group = nil
}

// dropEmpty takes out the slices without Pods, and returns the stored ones. A Service without Pods keeps
// one slice.
func (l *layout) dropEmpty() (spare []*unstructured.Unstructured) {
	for _, g := range l.groups {
		g.slices = slices.DeleteFunc(g.slices, func(s *slice) bool {
			if len(s.members) == 0 && s.stored != nil {
				spare = append(spare, s.stored)
			}
			return len(s.members) == 0
		})
	}
	l.groups = slices.DeleteFunc(l.groups, func(g *portGroup) bool { return len(g.members) == 0 })
	if len(l.members) == 0 {
		l.groups = []*portGroup{{slices: []*slice{{dirty: true}}}}
	}
	return spare
}

// fill puts the Pods that are in no slice into slices, as kube-controller-manager does: into slices that
// are written anyway, the fullest first, then into the fullest slice that has room for all other Pods,
// then into new slices.
func (g *portGroup) fill() {
	left := slices.DeleteFunc(g.left, func(m *member) bool { return m.slice != nil || m.group == nil })
	slices.SortFunc(left, func(a, b *member) int { return cmp.Compare(a.name, b.name) })
	g.left = nil
	for _, s := range g.fullest(func(s *slice) bool { return s.dirty }) {
		left = s.take(left)
	}
	room := func(s *slice) bool { return !s.dirty && len(s.members)+len(left) <= largestSlice }
	if open := g.fullest(room); len(left) > 0 && len(left) < largestSlice && len(open) > 0 {
		left = open[0].take(left)
	}
	for len(left) > 0 {
		s := &slice{}
		g.slices = append(g.slices, s)
		left = s.take(left)
	}
}

// fullest returns the slices for which a function is true, the fullest first.
func (g *portGroup) fullest(is func(*slice) bool) (found []*slice) {
	for _, s := range g.slices {
		if is(s) {
			found = append(found, s)
		}
	}
	slices.SortStableFunc(found, func(a, b *slice) int { return cmp.Compare(len(b.members), len(a.members)) })
	return found
}

// take puts Pods into a slice while it has room, and returns the others.
func (s *slice) take(more []*member) (left []*member) {
	n := min(len(more), largestSlice-len(s.members))
	for _, m := range more[:n] {
		s.insert(m)
	}
	s.dirty = s.dirty || n > 0
	return more[n:]
}

func (s *slice) insert(m *member) {
	m.slice = s
	s.members = insertMember(s.members, m)
}

func insertMember(list []*member, m *member) []*member {
	at, _ := slices.BinarySearchFunc(list, m.name, byMemberName)
	return slices.Insert(list, at, m)
}

func removeMember(list []*member, m *member) []*member {
	if at, found := slices.BinarySearchFunc(list, m.name, byMemberName); found {
		return slices.Delete(list, at, at+1)
	}
	return list
}

func byMemberName(m *member, name string) int { return cmp.Compare(m.name, name) }

// endpoints are the field endpoints of a slice, and its addressType.
func (s *slice) endpoints() (list []any, addressType string) {
	addressType = "IPv4"
	for _, m := range s.members {
		if ip, _ := fields.Slice(m.endpoint, "addresses")[0].(string); strings.Contains(ip, ":") {
			addressType = "IPv6"
		}
		list = append(list, m.endpoint)
	}
	return list, addressType
}
