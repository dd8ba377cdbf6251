package builtin

import (
	"encoding/base64"
	"maps"
	"slices"
)

// finished are types that the server changes in other ways than by defaults.
var finished = map[string]func(*copied){
	"Job":                   func(c *copied) { labelsOfTemplate(c, nested(c.now(), "spec", "template", "metadata", "labels")) },
	"ReplicationController": replicationController,
	"Namespace":             namespaceLabel,
	"Secret":                stringData,
	"Service":               ingressMode,
	"ServiceSpec":           sessionAffinity,
	"LimitRangeItem":        limitRangeItem,
	"Pod":                   podRequests,
	"PodSpec":               serviceAccount,
	"PodStatus":             func(c *copied) { mirror(c, "podIP", "podIPs", "ip") },
	"NodeSpec":              func(c *copied) { mirror(c, "podCIDR", "podCIDRs", "") },
}

// nested returns the map at a path, else nil.
func nested(m map[string]any, path ...string) map[string]any {
	for _, name := range path {
		m, _ = m[name].(map[string]any)
	}
	return m
}

// labelsOfTemplate gives an object without labels the labels of its template.
func labelsOfTemplate(c *copied, labels map[string]any) {
	if len(labels) == 0 || len(nested(c.now(), "metadata", "labels")) > 0 {
		return
	}
	metadata := maps.Clone(nested(c.now(), "metadata"))
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["labels"] = labels
	c.set("metadata", metadata)
}

func replicationController(c *copied) {
	labels := nested(c.now(), "spec", "template", "metadata", "labels")
	labelsOfTemplate(c, labels)
	if len(labels) > 0 && len(nested(c.now(), "spec", "selector")) == 0 {
		spec := maps.Clone(nested(c.now(), "spec"))
		spec["selector"] = labels
		c.set("spec", spec)
	}
}

func namespaceLabel(c *copied) {
	const label = "kubernetes.io/metadata.name"
	metadata := nested(c.now(), "metadata")
	name := text(metadata["name"])
	if labels := nested(metadata, "labels"); name != "" && labels[label] != name {
		labels = maps.Clone(labels)
		if labels == nil {
			labels = map[string]any{}
		}
		labels[label] = name
		metadata = maps.Clone(metadata)
		metadata["labels"] = labels
		c.set("metadata", metadata)
	}
}

// serviceAccount keeps the older name of a field equal to the newer one.
func serviceAccount(c *copied) {
	if name := text(c.now()["serviceAccountName"]); name != "" && c.now()["serviceAccount"] != name {
		c.set("serviceAccount", name)
	}
}

// mirror keeps a field and the first element of the list that came after it equal. The elements have
// the value in a field, or are the value.
func mirror(c *copied, one, many, field string) {
	list, _ := c.now()[many].([]any)
	value := text(c.now()[one])
	switch {
	case value != "" && (len(list) == 0 || first(list, field) != value):
		c.set(many, []any{element(field, value)})
	case value == "" && len(list) > 0 && first(list, field) != "":
		c.set(one, first(list, field))
	}
}

func first(list []any, field string) string {
	if field == "" {
		return text(list[0])
	}
	m, _ := list[0].(map[string]any)
	return text(m[field])
}

func element(field, value string) any {
	if field == "" {
		return value
	}
	return map[string]any{field: value}
}

// stringData moves the texts of a Secret to its data.
func stringData(c *copied) {
	texts := nested(c.now(), "stringData")
	if texts == nil {
		return
	}
	data := maps.Clone(nested(c.now(), "data"))
	if data == nil {
		data = map[string]any{}
	}
	for key, v := range texts {
		data[key] = base64.StdEncoding.EncodeToString([]byte(text(v)))
	}
	delete(c.own(), "stringData")
	if len(data) > 0 {
		c.set("data", data)
	}
}

// affinitySeconds is how long a Service keeps the affinity of a client, in seconds: three hours.
const affinitySeconds = int64(10800)

// sessionAffinity keeps the configuration that a Service has only for the affinity of its kind.
func sessionAffinity(c *copied) {
	switch affinity := text(c.now()["sessionAffinity"]); affinity {
	case "", "None":
		if c.now()["sessionAffinityConfig"] != nil {
			delete(c.own(), "sessionAffinityConfig")
		}
	case "ClientIP":
		if nested(c.now(), "sessionAffinityConfig", "clientIP")["timeoutSeconds"] == nil {
			c.set("sessionAffinityConfig", map[string]any{"clientIP": map[string]any{"timeoutSeconds": affinitySeconds}})
		}
	}
}

// ingressMode says of the addresses of a load balancer that they are its own.
func ingressMode(c *copied) {
	list, _ := nested(c.now(), "status", "loadBalancer")["ingress"].([]any)
	if nested(c.now(), "spec")["type"] != "LoadBalancer" || len(list) == 0 {
		return
	}
	next := eachOf(list, func(ingress *copied) {
		if ip := text(ingress.now()["ip"]); ip != "" && ingress.now()["ipMode"] == nil {
			ingress.set("ipMode", "VIP")
		}
	})
	if !sameValue(list, next) {
		status := maps.Clone(nested(c.now(), "status"))
		status["loadBalancer"] = map[string]any{"ingress": next}
		c.set("status", status)
	}
}

// limitRangeItem gives containers the largest limits as default, and these, or the smallest
// requests, as default requests.
func limitRangeItem(c *copied) {
	if text(c.now()["type"]) != "Container" {
		return
	}
	limits := with(nested(c.now(), "default"), nested(c.now(), "max"))
	requests := with(with(nested(c.now(), "defaultRequest"), limits), nested(c.now(), "min"))
	if len(limits) > 0 {
		c.set("default", limits)
	}
	if len(requests) > 0 {
		c.set("defaultRequest", requests)
	}
}

// with returns the entries of a map, and the entries of another map whose keys are not in the
// first.
func with(m, more map[string]any) map[string]any {
	all := maps.Clone(more)
	if all == nil {
		return m
	}
	maps.Copy(all, m)
	return all
}

// podRequests gives the containers of a Pod their limits as requests, and on the network of the Node
// the ports of the Node.
func podRequests(c *copied) {
	spec := &copied{from: nested(c.now(), "spec")}
	if Same(spec.from, nested(c.before, "spec")) {
		return
	}
	for _, list := range [...]string{"containers", "initContainers"} {
		old, _ := spec.now()[list].([]any)
		next := eachOf(old, func(container *copied) {
			requestLimits(container)
			if spec.now()["hostNetwork"] == true {
				hostPorts(container)
			}
		})
		if !sameValue(old, next) {
			spec.set(list, next)
		}
	}
	podResources(spec)
	if spec.to != nil {
		c.set("spec", spec.to)
	}
}

// eachOf returns a list whose maps a function has changed.
func eachOf(list []any, f func(*copied)) []any {
	next := list
	for i, v := range list {
		m, is := v.(map[string]any)
		if !is {
			continue
		}
		c := &copied{from: m}
		if f(c); c.to == nil {
			continue
		}
		if sameValue(next, list) {
			next = slices.Clone(list)
		}
		next[i] = c.to
	}
	return next
}

func requestLimits(container *copied) {
	resources := nested(container.now(), "resources")
	limits, requests := nested(resources, "limits"), nested(resources, "requests")
	if all := with(requests, limits); len(all) > len(requests) {
		resources = maps.Clone(resources)
		resources["requests"] = all
		container.set("resources", resources)
	}
}

func hostPorts(container *copied) {
	old, _ := container.now()["ports"].([]any)
	next := eachOf(old, func(port *copied) {
		if host := port.now()["hostPort"]; (host == nil || host == int64(0)) && port.now()["containerPort"] != nil {
			port.set("hostPort", port.now()["containerPort"])
		}
	})
	if !sameValue(old, next) {
		container.set("ports", next)
	}
}
