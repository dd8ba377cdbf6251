package apiserver

import (
	"encoding/json"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var (
	pods       = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	endpoints  = schema.GroupVersionKind{Version: "v1", Kind: "Endpoints"}
	namespaces = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	bindings   = schema.GroupVersionResource{Version: "v1", Resource: "bindings"}
)

// servedSubresources are those that discovery lists. All others are refused.
var servedSubresources = map[string]bool{"status": true, "scale": true, "binding": true, "eviction": true, "finalize": true, "log": true, "approval": true, "token": true}

// serveSubresource answers a request for a subresource.
func (c *call) serveSubresource() error {
	verb := c.verb(c.r)
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
	case "token":
		return c.token()
	case "approval":
		c.subresource = "status" // of which it is a part
	}
	return verbs[verb](c) // status
}

// log answers with the log of a Pod, which is empty: no process runs in it.
func (c *call) log() error {
	if _, err := c.cluster.Get(c.ctx, pods, c.key()); err != nil {
		return err
	}
	writeText(c.w, http.StatusOK, "")
	return nil
}

// refusal says whether a subresource is one that a kube-apiserver has and this server has not.
func (c *call) refusal() error {
	for _, v := range recorded() {
		for _, r := range v.Resources {
			if v.Group != c.resource.Group || r.Resource != c.resource.Resource {
				continue
			}
			for _, sub := range r.Subresources {
				if sub.Subresource == c.subresource && !servedSubresources[c.subresource] {
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
	given, err := decode(c.w, c.r, schema.GroupVersionKind{Version: "v1", Kind: "Binding"}, "")
	if err != nil {
		return err
	}
	c.name = given.GetName()
	var o metav1.CreateOptions
	if err := c.options(&o); err != nil {
		return err
	}
	if err := c.cluster.Bind(c.ctx, c.key(), given, o); err != nil {
		return err
	}
	return c.created()
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
	eviction, err := decode(c.w, c.r, schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"}, "")
	if err != nil {
		return err
	}
	var o metav1.DeleteOptions
	if given, ok := eviction.Object["deleteOptions"].(map[string]any); ok {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(given, &o); err != nil {
			return badRequest("%v", err)
		}
	}
	if err := c.cluster.Evict(c.ctx, c.key(), o); err != nil {
		return err
	}
	return c.created()
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
