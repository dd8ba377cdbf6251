package apiserver

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	internalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes/scheme"

	provisioning "github.com/stagecraft-go/stagecraft/stage/lab/controllers/namespaces"
	"github.com/stagecraft-go/stagecraft/stage/lab/definitions"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A call is one request for objects.
type call struct {
	target
	ctx     context.Context
	of      *resource
	bare    bool
	ca      string
	cluster *memory.Cluster // as the user of the request
	schemas *definitions.Index
	events  *eventCache
	server  *Server

	requester *user.DefaultInfo
	form      form
	w         http.ResponseWriter
	r         *http.Request
	query     url.Values
	leftOut   int    // Pods without usage, see leaveOut
	made      string // the name of the object that was created
}

// serve answers a request for objects.
func (t target) serve(s *Server, w http.ResponseWriter, r *http.Request) {
	of, verb, seen := s.kinds.lookup(t.resource), t.verb(r), observe(w)
	if err := s.serveTarget(t, of, verb, seen, r); err != nil {
		writeError(seen, r, err)
	}
	if of != nil {
		s.count(t, of, verb, r, seen.code)
	}
	seen.release()
}

func (s *Server) serveTarget(t target, of *resource, verb string, w http.ResponseWriter, r *http.Request) error {
	switch {
	case t.resource == bindings:
		return s.serveBinding(t, w, r)
	case of == nil && !isRecorded(t.resource.Group):
		if !s.serveAggregated(t.resource.GroupVersion(), w, r) {
			serveNothing(s, w, r)
		}
		return nil
	case of == nil:
		return errNotStored(t)
	case t.namespace != "" && !of.isNamespaced():
		return errUnknown()
	}
	c, err := s.newCall(t, of, w, r)
	if err != nil {
		return err
	}
	switch {
	case of.virtual:
		return c.review()
	case of.measured:
		return c.ofRequest(c.measurements())
	case t.subresource != "":
		return c.serveSubresource()
	case t.name != "" && of.isNamespaced() && t.namespace == "":
		return errUnknown()
	case !slices.Contains(of.Verbs, verb) || !t.takes(verb, of):
		return errMethod()
	}
	err = c.ofRequest(verbs[verb](c))
	if err == nil {
		s.restore(c, verb)
	}
	return err
}

// newCall returns a request as the user who sends it, with the form of its answer.
func (s *Server) newCall(t target, of *resource, w http.ResponseWriter, r *http.Request) (*call, error) {
	if of.kind == endpoints {
		w.Header().Add("Warning", `299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"`)
	}
	if of.deprecation != "" {
		warn(w, of.deprecation)
	}
	f, err := negotiate(r, of.hasProtobuf())
	if err != nil && !t.isProxy() { // a kubelet has formats of its own
		return nil, err
	}
	c := &call{target: t, ctx: t.context(w, r), of: of, bare: s.bare, ca: s.ca, cluster: s.cluster.Shared(), schemas: s.schemas, events: &s.events, server: s, form: f, w: w, r: r, query: r.URL.Query()}
	if c.requester, err = requesterOf(r); err != nil {
		return nil, err
	}
	if c.requester != admin {
		c.cluster = c.cluster.Impersonate(c.requester.Name)
	}
	c.ctx = request.WithUser(c.ctx, c.requester)
	if of.kind == groupEvents {
		c.ctx = askedInGroup(c.ctx)
	}
	return c, nil
}

// verbs are what can be asked of objects and collections.
var verbs = map[string]func(*call) error{
	"get": (*call).get, "list": (*call).list, "watch": (*call).watch,
	"create": (*call).create, "update": (*call).update, "patch": (*call).patch,
	"delete": (*call).delete, "deletecollection": (*call).deleteCollection,
}

// takes reports whether a path can have a verb: objects have others than collections, and over all
// namespaces there are lists and watches only.
func (t target) takes(verb string, of *resource) bool {
	switch verb {
	case "list", "watch":
		return true
	case "create", "deletecollection":
		return t.name == "" && (t.namespace != "" || !of.isNamespaced())
	}
	return t.name != ""
}

func (c *call) key() types.NamespacedName {
	return types.NamespacedName{Namespace: c.namespace, Name: c.name}
}

// write answers with an object.
func (c *call) write(code int, u *unstructured.Unstructured) error {
	data, err := c.marshal(u)
	if err != nil {
		return err
	}
	writeBytes(c.w, code, c.form.contentType(""), data)
	return nil
}

func (c *call) marshal(u *unstructured.Unstructured) ([]byte, error) {
	u, err := c.read(u)
	if err != nil {
		return nil, err
	}
	if c.form.as != "Table" {
		return c.form.marshal(u)
	}
	table := c.tabulator().table([]unstructured.Unstructured{*u})
	table.ResourceVersion = u.GetResourceVersion()
	return c.form.marshalValue(table)
}

// tabulator returns what turns objects into the Tables that the request asks for.
func (c *call) tabulator() tabulator {
	return tabulator{cells: cells{c.cluster.Now()}, form: c.form, of: c.of, wholeRow: c.query.Get("includeObject")}
}

// contentType is the header of an answer, with the parameters that the form has.
func (f form) contentType(stream string) string {
	if stream != "" {
		return f.mediaType + ";" + stream
	}
	return f.mediaType
}

func (c *call) get() error {
	if err := c.cluster.CheckVersion(c.query.Get("resourceVersion")); err != nil {
		return err
	}
	u, err := c.cluster.Get(c.ctx, c.of.storage, c.key())
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, u)
}

// listOptions reads the options of a list or watch, and checks what can be said together.
func (c *call) listOptions() (o metav1.ListOptions, err error) {
	var given internalversion.ListOptions
	if err := internalscheme.ParameterCodec.DecodeParameters(c.query, metav1.SchemeGroupVersion, &given); err != nil {
		return o, badRequest("%v", err)
	}
	internalversion.SetListOptionsDefaults(&given, true)
	if faults := validation.ValidateListOptions(&given, true); len(faults) > 0 {
		return o, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", faults)
	}
	if err := internalversion.Convert_internalversion_ListOptions_To_v1_ListOptions(&given, &o, nil); err != nil {
		return o, err
	}
	return o, c.selectStorage(&o)
}

func (c *call) list() error {
	o, err := c.listOptions()
	if err != nil {
		return err
	}
	list, err := c.cluster.List(c.ctx, c.of.storage, c.namespace, o)
	if err != nil {
		return err
	}
	return c.writeList(list)
}

func (c *call) writeList(list *unstructured.UnstructuredList) error {
	if c.form.streams() {
		return c.streamList(list)
	}
	if err := c.takeFor(list); err != nil {
		return err
	}
	data, err := c.marshalList(list)
	if err != nil {
		return err
	}
	give(c.ctx)
	writeBytes(c.w, http.StatusOK, c.form.contentType(""), data)
	return nil
}

// takeFor waits until a list may be encoded, if it is long: a listener leaves a processor for other requests.
func (c *call) takeFor(list *unstructured.UnstructuredList) error {
	const usual = 256 // bytes of an object
	if c.server.turns == nil {
		return nil
	}
	return take(c.ctx, usual*len(list.Items))
}

// options reads the options of a write from the query.
func (c *call) options(into runtime.Object) error {
	if err := scheme.ParameterCodec.DecodeParameters(c.query, schema.GroupVersion{Version: "v1"}, into); err != nil {
		return badRequest("%v", err)
	}
	return nil
}

// invalidOptions is the answer to options with faults.
func invalidOptions(kind string, faults field.ErrorList) error {
	if len(faults) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", faults)
}

// manager is the field manager of a request: the one that it names, or its program.
func (c *call) manager(given string) string {
	if given != "" {
		return given
	}
	name, _, _ := strings.Cut(c.r.UserAgent(), "/")
	return name[:min(len(name), maxManager)]
}

// maxManager is how long the name of a field manager may be.
const maxManager = 128

// object reads an object of the resource's kind, and checks that it is where the path says.
func (c *call) object(validation string) (*unstructured.Unstructured, error) {
	u, err := c.decode(strictness(validation))
	if err != nil {
		return nil, err
	}
	if err := c.place(u); err != nil {
		return nil, err
	}
	return c.toStorage(u), nil
}

// place gives an object the namespace of the path.
func (c *call) place(u *unstructured.Unstructured) error {
	switch namespace := u.GetNamespace(); {
	case !c.of.isNamespaced() && namespace != "":
		u.SetNamespace("")
	case !c.of.isNamespaced():
	case namespace == "":
		u.SetNamespace(c.namespace)
	case namespace != c.namespace:
		return badRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

func (c *call) create() error {
	var o metav1.CreateOptions
	if err := c.options(&o); err != nil {
		return err
	}
	if err := invalidOptions("CreateOptions", metavalidation.ValidateCreateOptions(&o)); err != nil {
		return err
	}
	u, err := c.object(o.FieldValidation)
	if err != nil {
		return err
	}
	o.FieldManager = c.manager(o.FieldManager)
	if u, err = c.cluster.Create(c.ctx, u, o); err != nil {
		return err
	}
	c.made = u.GetName()
	c.warnOfFinalizers(nil, u)
	c.warnOfUnmodelled(u, o.DryRun)
	if c.of.kind == namespaces && !c.bare && len(o.DryRun) == 0 {
		if err := provisioning.Provision(c.ctx, c.cluster, u.GetName(), c.ca); err != nil {
			return err
		}
	}
	return c.write(http.StatusCreated, u)
}

func (c *call) update() error {
	var o metav1.UpdateOptions
	if err := c.options(&o); err != nil {
		return err
	}
	if err := invalidOptions("UpdateOptions", metavalidation.ValidateUpdateOptions(&o)); err != nil {
		return err
	}
	u, err := c.object(o.FieldValidation)
	if err != nil {
		return err
	}
	if err := c.named(u); err != nil {
		return err
	}
	o.FieldManager = c.manager(o.FieldManager)
	before, err := c.stored()
	if err != nil {
		return err
	}
	if u, err = c.cluster.Update(c.ctx, u, o, c.subresources()...); err != nil {
		return err
	}
	c.warnOfFinalizers(before, u)
	c.warnOfUnmodelled(u, o.DryRun)
	return c.write(http.StatusOK, u)
}

// named checks that an object has the name of the path.
func (c *call) named(u *unstructured.Unstructured) error {
	if name := u.GetName(); name != c.name {
		return badRequest("the name of the object (%s) does not match the name on the URL (%s)", name, c.name)
	}
	return nil
}

// subresources is the last argument of a cluster's methods.
func (c *call) subresources() []string {
	if c.subresource == "" {
		return nil
	}
	return []string{c.subresource}
}

func (c *call) deleteOptions() (o metav1.DeleteOptions, err error) {
	if err := c.options(&o); err != nil {
		return o, err
	}
	return o, decodeOptions(c.r, c.of.version, &o)
}

// delete answers with the object where it is still there or its kind says so, with a Status
// otherwise.
func (c *call) delete() error {
	o, err := c.deleteOptions()
	if err != nil {
		return err
	}
	before, err := c.cluster.Get(c.ctx, c.of.storage, c.key())
	if err != nil {
		return err
	}
	if err := c.cluster.Delete(c.ctx, c.of.storage, c.key(), o); err != nil {
		return err
	}
	after, err := c.cluster.Get(c.ctx, c.of.storage, c.key())
	switch {
	case err == nil && after.GetUID() == before.GetUID():
		return c.write(http.StatusOK, after)
	case returnsDeleted[c.of.kind.GroupKind()]:
		return c.write(http.StatusOK, before)
	}
	return c.succeeded(before)
}

// succeeded answers that an object is gone.
func (c *call) succeeded(u *unstructured.Unstructured) error {
	f := c.form
	f.as = ""
	data, err := f.marshalTyped(&metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Name: u.GetName(), Group: c.of.kind.Group, Kind: c.of.Resource, UID: u.GetUID()},
	})
	if err != nil {
		return err
	}
	writeBytes(c.w, http.StatusOK, f.contentType(""), data)
	return nil
}

// returnsDeleted are the kinds of which a kube-apiserver returns the object that it has deleted.
var returnsDeleted = map[schema.GroupKind]bool{
	{Kind: "Namespace"}: true, {Kind: "PersistentVolume"}: true, {Kind: "PersistentVolumeClaim"}: true, {Kind: "Pod"}: true,
	{Kind: "PodTemplate"}: true, {Kind: "ResourceQuota"}: true, {Kind: "Service"}: true, {Kind: "ServiceAccount"}: true,
	{Group: "resource.k8s.io", Kind: "DeviceClass"}: true, {Group: "resource.k8s.io", Kind: "ResourceClaim"}: true,
	{Group: "resource.k8s.io", Kind: "ResourceClaimTemplate"}: true, {Group: "resource.k8s.io", Kind: "ResourceSlice"}: true,
	{Group: "storage.k8s.io", Kind: "CSIDriver"}: true, {Group: "storage.k8s.io", Kind: "CSINode"}: true,
	{Group: "storage.k8s.io", Kind: "StorageClass"}: true, {Group: "storage.k8s.io", Kind: "VolumeAttachment"}: true,
	{Group: "storage.k8s.io", Kind: "VolumeAttributesClass"}: true,
}

// deleteCollection deletes the objects of a selection, one after another, and answers with them.
func (c *call) deleteCollection() error {
	o, err := c.deleteOptions()
	if err != nil {
		return err
	}
	selection, err := c.listOptions()
	if err != nil {
		return err
	}
	found, err := c.cluster.List(c.ctx, c.of.storage, c.namespace, selection)
	if err != nil {
		return err
	}
	for i := range found.Items {
		name := types.NamespacedName{Namespace: found.Items[i].GetNamespace(), Name: found.Items[i].GetName()}
		if err := c.cluster.Delete(c.ctx, c.of.storage, name, o); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return c.writeList(found)
}
