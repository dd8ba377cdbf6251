package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/object"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// request is one write. Callers of its methods hold mu.
type request struct {
	*store
	Request
	kind      *kind
	manager   string // field manager
	entries   *[]any // the managedFields to store, after an apply
	given     any    // the managedFields that the client sent
	dryRun    bool
	found     *record // the record and the object that the request decides about; nil without one
	seen      *unstructured.Unstructured
	before    *unstructured.Unstructured // seen in the version of the request
	view      Review                     // the view of hooks on this write
	decided   *Review                    // the write with the changes of the remote calls
	decidedOn *unstructured.Unstructured // the stored object for which they were made
	settled   bool                       // ... and the confirming calls have accepted it
	ctx       context.Context
	tries     int
	misnamed  fieldErrors // what is wrong with the name and namespace of a new object

	special    bool // of a special method for a subresource
	statusOnly bool // the root of the next version is not shared, and only its status differs
}

// write carries out a request and its consequences, such as garbage collection, under one lock.
func (c *Cluster) write(r request, f func(*request) (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
	r.store, r.User = c.store, c.user
	if r.manager == "" {
		r.manager = cmp.Or(c.user, "unknown")
	}
	obj, err := c.carryOut(&r, f)
	if c.options.Trace != nil {
		r.Err = err
		c.options.Trace(r.Request)
	}
	if err != nil {
		return nil, err
	}
	if obj == nil {
		return nil, nil
	}
	if obj, err = c.asVersion(r.ctx, r.kind, obj); err != nil {
		return nil, err
	}
	return c.result(obj), nil
}

// carryOut does a write under the lock, and gives r its outcome.
func (c *Cluster) carryOut(r *request, f func(*request) (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	current := c.begin(*r)
	obj, err := c.attempt(current, f)
	r.Request, r.kind = current.Request, current.kind
	c.end(current)
	return obj, err
}

func (r *request) do(f func(*request) (*unstructured.Unstructured, error)) (obj *unstructured.Unstructured, err error) {
	if r.kind, err = r.kindOf(r.Request.Kind); err != nil {
		return nil, err
	}
	r.Name = r.kind.key(r.Name)
	r.look()
	if err := r.see(); err != nil {
		return nil, err
	}
	switch {
	case r.Subresource == "", r.Subresource == "status" && r.kind.Status, r.special:
		return f(r)
	default:
		return nil, apierrors.NewNotFound(r.resource(), r.Name.Name)
	}
}

// stored returns the object that the request is for.
func (r *request) stored() (*record, error) {
	if r.found != nil {
		return r.found, nil
	}
	return nil, apierrors.NewNotFound(r.resource(), r.Name.Name)
}

func (r *request) resource() schema.GroupResource { return r.kind.groupResource() }

func (r *request) conflict(format string, args ...any) error {
	return apierrors.NewConflict(r.resource(), r.Name.Name, fmt.Errorf(format, args...))
}

var errModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// Create stores a new object and returns the stored object. For a kind with the status subresource,
// Create drops the status.
func (c *Cluster) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	return c.create(ctx, obj, o, false)
}

func (c *Cluster) create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions, withStatus bool) (*unstructured.Unstructured, error) {
	r := request{ctx: ctx, Request: newRequest("create", obj, nil), manager: o.FieldManager, dryRun: len(o.DryRun) > 0}
	return c.write(r, func(r *request) (*unstructured.Unstructured, error) {
		root, err := r.admit(obj.Object)
		if err != nil {
			return nil, err
		}
		return r.create(root, withStatus)
	})
}

// Update replaces an object, or its status if subresources is "status", and returns the stored
// object. A resourceVersion other than "" and "0" must equal the stored one. Custom kinds and some
// built-in kinds, such as Leases and PodDisruptionBudgets, need a resourceVersion; without one the
// error is Invalid.
func (c *Cluster) Update(ctx context.Context, obj *unstructured.Unstructured, o metav1.UpdateOptions, subresources ...string) (*unstructured.Unstructured, error) {
	r := request{ctx: ctx, Request: newRequest("update", obj, subresources), manager: o.FieldManager, dryRun: len(o.DryRun) > 0}
	return c.write(r, func(r *request) (*unstructured.Unstructured, error) {
		root, err := r.admit(obj.Object)
		if err != nil {
			return nil, err
		}
		old, err := r.stored()
		if err != nil {
			return nil, err
		}
		if uid, ok := object.String(root, "metadata", "uid"); ok && uid != "" && uid != string(old.object().GetUID()) {
			return nil, r.conflict("StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: %s, UID in object meta: %s", r.storageKey(), uid, old.object().GetUID())
		}
		return r.replace(old, root)
	})
}

func newRequest(verb string, obj *unstructured.Unstructured, subresources []string) Request {
	r := Request{Verb: verb}
	if obj != nil {
		r.Kind, r.Name = obj.GroupVersionKind(), types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	}
	if len(subresources) > 0 {
		r.Subresource = subresources[0]
	}
	return r
}

// admit copies an object of a caller in a form that can be stored: without empty metadata and, for
// built-in kinds, without nulls, which Go types do not have. The root and the metadata of the
// result are not shared.
func (r *request) admit(obj map[string]any) (map[string]any, error) {
	root, err := r.interned(obj)
	if err != nil {
		return nil, err
	}
	return root, r.settleForm(root)
}

// settleForm checks an object, and makes the same corrections as an API server. The root and the
// metadata must not be shared.
func (r *request) settleForm(root map[string]any) error {
	if err := wellFormed(root); err != nil {
		return err
	}
	if r.kind.ClusterScoped {
		delete(metadataOf(root), "namespace")
	}
	dropEmpty(metadataOf(root))
	return nil
}

// wellFormed checks the parts of an object that all kinds share.
func wellFormed(root map[string]any) error {
	if root["metadata"] == nil {
		root["metadata"] = map[string]any{}
	}
	metadata, ok := root["metadata"].(map[string]any)
	if !ok {
		return apierrors.NewBadRequest("metadata: must be an object")
	}
	for _, field := range [...]string{"labels", "annotations"} {
		if !textMap(metadata[field]) {
			return apierrors.NewBadRequest(fmt.Sprintf("metadata.%s: must be a map of strings", field))
		}
	}
	if _, ok := object.Strings(metadata, "finalizers"); metadata["finalizers"] != nil && !ok {
		return apierrors.NewBadRequest("metadata.finalizers: must be a list of strings")
	}
	return nil
}

func textMap(v any) bool {
	m, ok := object.ToMap(v)
	for _, e := range m {
		if _, text := e.(string); !text {
			return false
		}
	}
	return ok || v == nil
}

// create stores an object that admit returned.
func (r *request) create(root map[string]any, withStatus bool) (*unstructured.Unstructured, error) {
	metadata := metadataOf(root)
	if v, _ := metadata["resourceVersion"].(string); !anyVersion(v) && !r.dryRun {
		return nil, versionGiven()
	}
	if err := r.place(metadata); err != nil {
		return nil, err
	}
	if r.look(); r.found != nil { // place can generate a name
		return nil, r.taken(root)
	}
	if !withStatus {
		r.initialStatus(root)
	}
	r.birth(metadataOf(root))
	if err := r.fill(nil, root); err != nil {
		return nil, err
	}
	if r.tracks && r.entries == nil {
		if err := r.ownNew(root); err != nil {
			return nil, err
		}
	}
	if err := r.admits(nil, root); err != nil {
		return nil, err
	}
	if r.resource() == definitions {
		if err := r.establish(root); err != nil {
			return nil, err
		}
	}
	if err := r.review(nil, root); err != nil {
		return nil, err
	}
	if r.dryRun {
		return &unstructured.Unstructured{Object: root}, nil
	}
	stored, err := r.inStorage(nil, root)
	if err != nil {
		return nil, err
	}
	r.view.putOthers()
	r.warn(nil, root)
	return r.insert(r.kind, r.Name, stored, r.view.bytes).object(), nil
}

// taken returns the error for an object whose name is taken. An invalid object gets the error of
// validation first. Hooks.Review is not called, because it can count objects.
func (r *request) taken(root map[string]any) error {
	if err := r.fill(nil, root); err != nil {
		return err
	}
	if err := r.admits(nil, root); err != nil {
		return err
	}
	v := r.reviewOf(nil, root)
	if call := r.remote(v); call != nil {
		return call
	}
	if err := r.validate(v); err != nil {
		return err
	}
	if call := r.confirm(v); call != nil {
		return call
	}
	return apierrors.NewAlreadyExists(r.resource(), r.Name.Name)
}

// place sets the name and namespace of the object, and finds their faults.
func (r *request) place(metadata map[string]any) error {
	if faults := nameIsText(metadata); len(faults) > 0 {
		return apierrors.NewInvalid(r.kind.GroupKind(), r.Name.Name, faults)
	}
	if prefix, _ := metadata["generateName"].(string); prefix != "" && r.Name.Name == "" {
		r.Name.Name = r.generate(prefix)
	}
	setText(metadata, "name", r.Name.Name)
	setText(metadata, "namespace", r.Name.Namespace)
	if err := r.checkNames(); err != nil {
		return err
	}
	return r.checkNamespace()
}

// longestNames is the length up to which names are checked within the lock. No name of an object and
// its namespace is longer.
const longestNames = 253 + 63

// checkNames finds the faults of the name and namespace. It looks at longer ones, and writes the faults,
// without the lock, because the time that patterns take grows with the length: a megabyte takes 200 ms.
func (r *request) checkNames() error {
	kind, name := r.kind, r.Name
	check := func() error {
		r.misnamed = kind.checkNames(name)
		return nil
	}
	if len(name.Name)+len(name.Namespace) <= longestNames {
		return check()
	}
	return r.unlocked(check)
}

// misnamedError is the error for an object whose name or namespace is wrong.
func (r *request) misnamedError() error {
	if len(r.misnamed) == 0 {
		return nil
	}
	return apierrors.NewInvalid(r.kind.GroupKind(), r.Name.Name, r.misnamed)
}

// refuseName returns misnamedError where the request has the lock.
func (r *request) refuseName() error {
	if len(r.misnamed) == 0 {
		return nil
	}
	return r.unlocked(r.misnamedError)
}

// setText sets a field, or removes the field if the text is "". It does not write a field that
// already has the text, so that m can be shared in this case.
func setText(m map[string]any, field, text string) {
	switch {
	case text == "":
		delete(m, field)
	case m[field] != text:
		m[field] = text
	}
}

// birth sets the metadata that the server sets on a new object.
func (r *request) birth(metadata map[string]any) {
	for _, field := range [...]string{"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "managedFields"} {
		delete(metadata, field)
	}
	if r.entries != nil {
		setEntries(metadata, *r.entries)
	}
	metadata["uid"] = r.uid(r.kind.table, r.Name)
	metadata["creationTimestamp"] = r.currentTimestamp()
	n, _ := metadata["generation"].(int64)
	switch {
	case r.kind.has(counted):
		metadata["generation"] = int64(1)
	case n == 0: // another number stays, as in an API server
		delete(metadata, "generation")
	}
}

// firstPhases are the values of status.phase of new objects, by kind.
var firstPhases = map[schema.GroupKind]string{
	{Kind: "Namespace"}:             "Active",
	{Kind: "PersistentVolume"}:      "Pending",
	{Kind: "PersistentVolumeClaim"}: "Pending",
	{Kind: "Pod"}:                   "Pending",
}

// nodeKind is the kind whose new objects keep the status that the client sent.
var nodeKind = schema.GroupKind{Kind: "Node"}

func (r *request) initialStatus(root map[string]any) {
	if r.kind.Status && r.kind.GroupKind() != nodeKind {
		delete(root, "status")
	}
	if phase := firstPhases[r.kind.GroupKind()]; phase != "" {
		root["status"] = map[string]any{"phase": phase}
	}
}

// finished reports whether an object that is being deleted can be removed: it has no finalizer and
// no grace period left.
func finished(metadata map[string]any) bool {
	if metadata["deletionTimestamp"] == nil {
		return false
	}
	grace, _ := object.ToInt64(metadata["deletionGracePeriodSeconds"])
	return grace == 0 && len(finalizersOf(metadata)) == 0
}

func finalizersOf(metadata map[string]any) []string {
	f, _ := object.Strings(metadata, "finalizers")
	return slices.Clip(f)
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

// storagePrefixes are the prefixes of etcd keys that differ from the names of their kinds.
var storagePrefixes = map[string]string{
	"services": "services/specs", "endpoints": "services/endpoints", "nodes": "minions", "replicationcontrollers": "controllers", "ingresses": "ingress",
}

// storageKey is the etcd key of the object in an API server, which conflicts name.
func (r *request) storageKey() string {
	prefix := r.kind.Resource
	if other := storagePrefixes[prefix]; other != "" {
		prefix = other
	}
	if r.Name.Namespace != "" {
		prefix += "/" + r.Name.Namespace
	}
	return "/" + prefix + "/" + r.Name.Name
}
