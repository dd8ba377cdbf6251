package hunt

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// A write is one that a process asked for.
type write struct {
	Site
	subject   string               // the process, or what its replicas have in common
	name      types.NamespacedName // of the object
	effective bool                 // it changed something
	orphan    bool                 // it made or deleted an object whose owner is gone, as the collector does
	line      int                  // in the story
	at        time.Time
	stored    *unstructured.Unstructured // what an effective write left, or deleted; shared
}

// refusals are the answers of Refuse.
var refusals = map[int]func(kind, name string) error{
	409: func(kind, name string) error {
		return apierrors.NewConflict(schema.GroupResource{Resource: kind}, name, errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	},
	429: func(string, string) error { return apierrors.NewTooManyRequestsError("please try again later") },
	500: func(string, string) error { return apierrors.NewInternalError(errors.New("refused by the hunt")) },
	503: func(string, string) error { return apierrors.NewServiceUnavailable("refused by the hunt") },
	504: func(string, string) error { return apierrors.NewTimeoutError("refused by the hunt", 1) },
}

// request is a write on its way.
type request struct {
	verb, subresource string
	kind              schema.GroupVersionKind
	name              types.NamespacedName
	do                func() (*unstructured.Unstructured, error)
}

// send carries out a write, with the faults that strike it.
func (p *Process) send(q request) (*unstructured.Unstructured, error) {
	if p.dead {
		return nil, errDead
	}
	r := p.run
	kind := q.kind.Kind
	if q.subresource != "" {
		kind += "/" + q.subresource
	}
	site := r.next(Site{Process: p.program.name, Controller: p.controller, Key: p.key, Verb: q.verb, Kind: kind})
	r.outcome.Sites = append(r.outcome.Sites, site)
	after, err := p.before(site, q)
	if err != nil {
		return nil, err
	}
	obj, err := p.carryOut(site, q)
	r.checkAlways()
	for _, f := range after {
		r.strikes(f, f.For)
		if f.Do == Lose {
			r.hang(p.program, f.For)
			return nil, apierrors.NewTimeoutError("the answer was lost", 1)
		}
		r.crash(p, f.Fault)
		panic(crash{})
	}
	return obj, err
}

// before has the faults strike that come before the write, and returns the others.
func (p *Process) before(site Site, q request) (after []*planned, err error) {
	r := p.run
	for _, f := range r.faults[site] {
		switch again := f.Do == Refuse && f.Times > 1; {
		case f.struck && !again || r.judged && !f.ofProcess():
			continue
		case f.Do == CrashAfter || f.Do == Lose:
			after = append(after, f)
			continue
		}
		switch f.Do {
		case Pause:
			r.pause(p, f)
			continue
		case Overlap:
			r.overlap(p, f)
			continue
		case Skew:
			r.skew(p.program, f)
			continue
		case Lag:
			lasts := cmp.Or(f.For, 30*time.Second)
			r.strikes(f, lasts)
			r.meter.until = r.sim.Now().Add(lasts)
			continue
		}
		r.strikes(f, f.For)
		switch f.Do {
		case CrashBefore:
			r.crash(p, f.Fault)
			panic(crash{})
		case Refuse:
			code := f.Code
			if code == 0 {
				code = 500
			}
			err = refusals[code](strings.ToLower(q.kind.Kind), q.name.Name)
		default:
			r.strike(f.Fault)
		}
	}
	return after, err
}

// carryOut does a write and tells it.
func (p *Process) carryOut(site Site, q request) (*unstructured.Unstructured, error) {
	r := p.run
	old, _ := r.shared.Get(context.Background(), q.kind, q.name)
	behind := p.behind()
	obj, err := q.do()
	w := write{Site: site, subject: p.program.subject, name: q.name, effective: err == nil && changes(q, old, obj), line: len(r.outcome.Story), at: r.sim.Now()}
	if obj != nil {
		w.name = nameOf(obj)
	}
	if w.effective {
		w.stored = old
		if now, err := r.shared.Get(context.Background(), q.kind, w.name); err == nil {
			w.stored = now
		}
	}
	w.orphan = q.verb == "create" && err == nil && !p.hasOwner(obj) || q.verb == "delete" && old != nil && !p.hasOwner(old)
	text := ""
	switch {
	case err != nil:
		text = ": " + err.Error()
	case !w.effective:
		text = ": no change"
	}
	r.writes = append(r.writes, w)
	r.tell(site.Process, "%s %s  %s %s %s%s%s", site.Controller, site.Key, site.Verb, site.Kind, w.name, text, behind)
	return obj, err
}

// hasOwner reports whether an object has no controller, or one that is there and has an owner itself.
func (p *Process) hasOwner(obj *unstructured.Unstructured) bool {
	ref := metav1.GetControllerOf(obj)
	if ref == nil {
		return true
	}
	owner, err := p.run.shared.Get(context.Background(), schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind), types.NamespacedName{Namespace: obj.GetNamespace(), Name: ref.Name})
	return err == nil && owner.GetUID() == ref.UID && p.hasOwner(owner)
}

// changes reports whether a write that succeeded has changed something.
func changes(q request, old, obj *unstructured.Unstructured) bool {
	if (Site{Verb: q.verb}).isOfContainers() {
		return false
	}
	if q.verb == "delete" || q.verb == "evict" {
		return old != nil && old.GetDeletionTimestamp() == nil
	}
	gone := obj != nil && obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 // with its last finalizer
	return old == nil || obj == nil || gone || old.GetResourceVersion() != obj.GetResourceVersion()
}

func (p *Process) cluster() *memory.Cluster { return p.run.sim.Cluster() }

// Create creates an object and returns it as stored.
func (p *Process) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	return p.send(request{"create", "", obj.GroupVersionKind(), nameOf(obj), func() (*unstructured.Unstructured, error) {
		return p.cluster().Create(ctx, obj, o)
	}})
}

// Update replaces an object, or its status if subresources is "status", and returns it as stored.
func (p *Process) Update(ctx context.Context, obj *unstructured.Unstructured, o metav1.UpdateOptions, subresources ...string) (*unstructured.Unstructured, error) {
	return p.send(request{"update", strings.Join(subresources, "/"), obj.GroupVersionKind(), nameOf(obj), func() (*unstructured.Unstructured, error) {
		return p.cluster().Update(ctx, obj, o, subresources...)
	}})
}

// Patch changes an object, or a subresource of it, and returns it as stored.
func (p *Process) Patch(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	verb := "patch"
	if t == types.ApplyPatchType {
		verb = "apply"
	}
	return p.send(request{verb, strings.Join(subresources, "/"), kind, name, func() (*unstructured.Unstructured, error) {
		return p.cluster().Patch(ctx, kind, name, t, data, o, subresources...)
	}})
}

// Delete deletes an object.
func (p *Process) Delete(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, o metav1.DeleteOptions) error {
	_, err := p.send(request{"delete", "", kind, name, func() (*unstructured.Unstructured, error) {
		return nil, p.cluster().Delete(ctx, kind, name, o)
	}})
	return err
}

// Evict evicts a Pod.
func (p *Process) Evict(ctx context.Context, pod types.NamespacedName, o metav1.DeleteOptions) error {
	_, err := p.send(request{"evict", "", schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, pod, func() (*unstructured.Unstructured, error) {
		return nil, p.cluster().Evict(ctx, pod, o)
	}})
	return err
}

// Kinds returns the kinds that the cluster has now.
func (p *Process) Kinds() []memory.Kind { return p.cluster().Kinds() }

// Live reads the cluster as it is, as the APIReader of a manager does.
func (p *Process) Live() transport.Reader { return live{p} }

// informs reports whether the process has a view of a kind. A kind that is read without a watch gets
// one in the runs that follow.
func (p *Process) informs(kind schema.GroupVersionKind) bool {
	if slices.Contains(p.kinds, kind) {
		return true
	}
	p.run.outcome.reads.add(p.program.subject, kind)
	return false
}

// Get returns one object as the process has seen it.
func (p *Process) Get(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error) {
	if p.dead {
		return nil, errDead
	}
	if !p.informs(kind) {
		return p.cluster().Get(ctx, kind, name)
	}
	obj := p.loop.Cache().Get(kind, name)
	if obj == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: strings.ToLower(kind.Kind) + "s"}, name.Name)
	}
	return copyOf(obj), nil
}

// List returns the objects that match the selectors as the process has seen them. As with the caches
// of a manager, o.Limit is ignored; fields are metadata.name and metadata.namespace.
func (p *Process) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if p.dead {
		return nil, errDead
	}
	if !p.informs(kind) {
		return p.cluster().List(ctx, kind, namespace, o)
	}
	byLabel, err := labels.Parse(o.LabelSelector)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	byField, err := fields.ParseSelector(o.FieldSelector)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind + "List"}}
	for _, obj := range p.loop.Cache().Select(kind, namespace, byLabel) {
		if byField.Matches(fields.Set{"metadata.name": obj.GetName(), "metadata.namespace": obj.GetNamespace()}) {
			list.Items = append(list.Items, *copyOf(obj))
		}
	}
	return list, nil
}

// Watch is there for interfaces that ask for it: a process has views.
func (p *Process) Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error) {
	return p.cluster().Watch(ctx, kind, namespace, o)
}

// Now returns the virtual time, as the clock of the machine has it that the process runs on.
func (p *Process) Now() time.Time {
	p.run.outcome.clocked = true
	return p.run.clock(p.program)
}

func copyOf(obj *unstructured.Unstructured) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object.CopyMap(obj.Object)}
}

// live is a reader of the cluster as it is.
type live struct{ *Process }

func (l live) Get(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error) {
	if l.dead {
		return nil, errDead
	}
	return l.cluster().Get(ctx, kind, name)
}

func (l live) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if l.dead {
		return nil, errDead
	}
	return l.cluster().List(ctx, kind, namespace, o)
}
