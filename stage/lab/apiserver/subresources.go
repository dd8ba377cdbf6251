package apiserver

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var (
	pods        = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	endpoints   = schema.GroupVersionKind{Version: "v1", Kind: "Endpoints"}
	namespaces  = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	bindingKind = schema.GroupVersionKind{Version: "v1", Kind: "Binding"}
	evictions   = schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"}
	bindings    = schema.GroupVersionResource{Version: "v1", Resource: "bindings"}
)

// servedSubresources are those that discovery lists. All others are refused.
var servedSubresources = map[string]bool{"status": true, "scale": true, "binding": true, "eviction": true, "finalize": true, "log": true, "approval": true, "token": true,
	"exec": true, "attach": true, "portforward": true}

// serveSubresource answers a request for a subresource.
func (c *call) serveSubresource() error {
	verb := c.verb(c.r)
	if c.isProxy() {
		return c.proxy()
	}
	if !c.of.has(c.subresource, verb) {
		return c.refusal()
	}
	switch c.subresource {
	case "scale":
		return c.serveScale(verb)
	case "binding":
		return c.bind()
	case "eviction":
		return c.evict()
	case "finalize":
		return c.finalize()
	case "log":
		return c.log()
	case "exec":
		return c.exec()
	case "attach":
		return c.attach()
	case "portforward":
		return c.portForward()
	case "token":
		return c.token()
	case "approval":
		c.subresource = "status" // of which it is a part
		err := verbs[verb](c)
		if err == nil {
			c.server.restore(c, verb)
		}
		return err
	}
	return verbs[verb](c) // status
}

// refusal says whether a subresource is one that a kube-apiserver has and this server has not.
func (c *call) refusal() error {
	first, _, _ := strings.Cut(c.subresource, "/") // a proxy has a path
	for _, v := range recorded() {
		for _, r := range v.Resources {
			if v.Group != c.resource.Group || r.Resource != c.resource.Resource {
				continue
			}
			for _, sub := range r.Subresources {
				if sub.Subresource == first && !servedSubresources[first] {
					return badRequest("%s/%s is not served by an in-memory cluster: no process runs in its Pods", r.Resource, sub.Subresource)
				}
			}
		}
	}
	if servedSubresources[c.subresource] && c.of.has(c.subresource, "create") || c.of.has(c.subresource, "get") {
		return errMethod()
	}
	return errUnknown()
}

// serveBinding answers a request to the resource bindings, which is the same as that to the
// subresource of the Pod that the object names.
func (s *Server) serveBinding(t target, w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		return errMethod()
	}
	of := s.kinds.lookup(schema.GroupVersionResource{Version: "v1", Resource: "pods"})
	if of == nil {
		return errUnknown()
	}
	c, err := s.newCall(t, of, w, r)
	if err != nil {
		return err
	}
	return c.bind()
}

// bind assigns a Pod to a node.
func (c *call) bind() error {
	given, o, err := c.subobject(bindingKind)
	if err != nil {
		return err
	}
	if c.name == "" { // of the resource bindings
		c.name = given.GetName()
	}
	if err := c.consult(nil, given, o.DryRun, func() error { return c.sameName(given) }); err != nil {
		return err
	}
	if err := c.cluster.Bind(c.ctx, c.key(), given, o); err != nil {
		return err
	}
	return c.created()
}

// subobject reads the object that is created in a subresource.
func (c *call) subobject(kind schema.GroupVersionKind) (u *unstructured.Unstructured, o metav1.CreateOptions, err error) {
	if err = c.options(&o); err == nil {
		u, err = decode(c.w, c.r, kind, strictness(o.FieldValidation))
	}
	if err == nil {
		err = c.placeIn(u)
	}
	return u, o, err
}

// placeIn gives an object the namespace of the path.
func (c *call) placeIn(u *unstructured.Unstructured) error {
	switch u.GetNamespace() {
	case "":
		u.SetNamespace(c.namespace)
	case c.namespace:
	default:
		return badRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

func (c *call) sameName(u *unstructured.Unstructured) error {
	if u.GetName() != c.name {
		return badRequest("name in URL does not match name in %s object", u.GetKind())
	}
	return nil
}

// consult has policies and webhooks change the object of a subresource, which is not stored, checks it, and
// asks who has to agree.
func (c *call) consult(before, next *unstructured.Unstructured, dryRun []string, check func() error) error {
	return c.cluster.Consult(c.ctx, memory.Consultation{
		Request:  memory.Request{Kind: c.of.kind, Name: c.key(), Subresource: c.subresource},
		Resource: c.resource.GroupResource(), DryRun: len(dryRun) > 0, Manager: c.manager(""), Old: before, New: next, Check: check,
	})
}

// created answers that a subresource has done what was asked.
func (c *call) created() error {
	f := c.form
	f.as = ""
	data, err := f.marshalTyped(&metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess, Code: http.StatusCreated})
	if err != nil {
		return err
	}
	writeBytes(c.w, http.StatusCreated, f.contentType(""), data)
	return nil
}

// evict deletes a Pod unless a PodDisruptionBudget forbids it.
func (c *call) evict() error {
	eviction, given, err := c.subobject(evictions)
	if err != nil {
		return err
	}
	var o metav1.DeleteOptions
	check := func() error {
		if err := c.sameName(eviction); err != nil {
			return err
		}
		o, err = deletionBy(eviction, given.DryRun)
		return err
	}
	if err := c.consult(nil, eviction, given.DryRun, check); err != nil {
		return err
	}
	if err := c.cluster.Evict(c.ctx, c.key(), o); err != nil {
		return err
	}
	return c.created()
}

// deletionBy returns the options of the deletion that an Eviction asks for. Who asks for a dry run may do so in one
// of two places.
func deletionBy(eviction *unstructured.Unstructured, dryRun []string) (o metav1.DeleteOptions, err error) {
	given, ok := eviction.Object["deleteOptions"].(map[string]any)
	if !ok {
		return metav1.DeleteOptions{DryRun: dryRun}, nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(given, &o); err != nil {
		return o, badRequest("%v", err)
	}
	switch {
	case len(o.DryRun) == 0:
		o.DryRun = dryRun
	case len(dryRun) > 0 && !slices.Equal(o.DryRun, dryRun):
		return o, badRequest("Non-matching dry-run options in request and content: %v and %v", dryRun, o.DryRun)
	}
	return o, nil
}

// finalize replaces the finalizers in the spec of a Namespace.
func (c *call) finalize() error {
	u, err := decode(c.w, c.r, namespaces, "")
	if err != nil {
		return err
	}
	if err := c.named(u); err != nil {
		return err
	}
	finalizers, _, _ := unstructured.NestedSlice(u.Object, "spec", "finalizers")
	body := map[string]any{"spec": map[string]any{"finalizers": finalizers}}
	if v := u.GetResourceVersion(); v != "" {
		body["metadata"] = map[string]any{"resourceVersion": v}
	}
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	u, err = c.cluster.Patch(c.ctx, namespaces, c.key(), types.MergePatchType, data, metav1.PatchOptions{})
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, u)
}
