package apiserver

import (
	"cmp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
)

// untyped prints the kinds for which the oldest supported version of k8s.io/api has no Go type, and
// kinds with few fields.
var untyped = map[schema.GroupKind]func(printable) []any{
	{Group: "apiregistration.k8s.io", Kind: "APIService"}:                           printable.apiService,
	{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"}:               printable.certificateRequest,
	{Group: "networking.k8s.io", Kind: "IPAddress"}:                                 printable.ipAddress,
	{Group: "networking.k8s.io", Kind: "ServiceCIDR"}:                               printable.serviceCIDR,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicy"}:        printable.mutatingPolicy,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicyBinding"}: printable.mutatingBinding,
	{Group: "resource.k8s.io", Kind: "ResourceClaim"}:                               printable.resourceClaim,
	{Group: "resource.k8s.io", Kind: "ResourceSlice"}:                               printable.resourceSlice,
	{Group: "flowcontrol.apiserver.k8s.io", Kind: "FlowSchema"}:                     printable.flowSchema,
	{Group: "flowcontrol.apiserver.k8s.io", Kind: "PriorityLevelConfiguration"}:     printable.priorityLevel,
}

// A printable is an object whose fields are read for its row.
type printable struct {
	*unstructured.Unstructured
	age string
}

func (f printable) has(path ...string) bool {
	_, found, err := unstructured.NestedFieldNoCopy(f.Object, path...)
	return found && err == nil
}

func (f printable) text(path ...string) string {
	s, _, _ := unstructured.NestedString(f.Object, path...)
	return s
}

func (f printable) number(path ...string) int64 {
	n, _, _ := unstructured.NestedInt64(f.Object, path...)
	return n
}

func (f printable) length(path ...string) int64 {
	list, _, _ := unstructured.NestedSlice(f.Object, path...)
	return int64(len(list))
}

// condition returns the condition of a type, nil without one.
func (f printable) condition(name string) map[string]any {
	list, _, _ := unstructured.NestedSlice(f.Object, "status", "conditions")
	for _, item := range list {
		if c, _ := item.(map[string]any); text(c, "type") == name {
			return c
		}
	}
	return nil
}

func (f printable) apiService() []any {
	service, status := "Local", "Unknown"
	if f.has("spec", "service") {
		service = f.text("spec", "service", "namespace") + "/" + f.text("spec", "service", "name")
	}
	if c := f.condition("Available"); c != nil {
		status = text(c, "status")
		if reason := text(c, "reason"); status != string(metav1.ConditionTrue) && reason != "" {
			status += " (" + reason + ")"
		}
	}
	return []any{f.GetName(), service, status, f.age}
}

func (f printable) certificateRequest() []any {
	lasts, status := none, "Pending"
	if f.has("spec", "expirationSeconds") {
		lasts = duration.HumanDuration(time.Duration(f.number("spec", "expirationSeconds")) * time.Second)
	}
	switch {
	case f.condition("Denied") != nil:
		status = "Denied"
	case f.condition("Approved") != nil:
		status = "Approved"
	}
	if f.condition("Failed") != nil {
		status += ",Failed"
	}
	if f.text("status", "certificate") != "" {
		status += ",Issued"
	}
	return []any{f.GetName(), f.age, cmp.Or(f.text("spec", "signerName"), none), f.text("spec", "username"), lasts, status}
}

func (f printable) ipAddress() []any {
	parent := none
	if f.has("spec", "parentRef") {
		of := schema.GroupResource{Group: f.text("spec", "parentRef", "group"), Resource: f.text("spec", "parentRef", "resource")}
		parent = strings.ToLower(of.String())
		if namespace := f.text("spec", "parentRef", "namespace"); namespace != "" {
			parent += "/" + namespace
		}
		parent += "/" + f.text("spec", "parentRef", "name")
	}
	return []any{f.GetName(), parent, f.age}
}

func (f printable) serviceCIDR() []any {
	ranges, _, _ := unstructured.NestedStringSlice(f.Object, "spec", "cidrs")
	return []any{f.GetName(), strings.Join(ranges, ","), f.age}
}

func (f printable) mutatingPolicy() []any {
	kind := unset
	if f.has("spec", "paramKind") {
		kind = f.text("spec", "paramKind", "apiVersion") + "/" + f.text("spec", "paramKind", "kind")
	}
	return []any{f.GetName(), f.length("spec", "mutations"), kind, f.age}
}

func (f printable) mutatingBinding() []any {
	parameter, name := unset, f.text("spec", "paramRef", "name")
	switch selector, has, _ := unstructured.NestedMap(f.Object, "spec", "paramRef", "selector"); {
	case name != "":
		parameter = cmp.Or(f.text("spec", "paramRef", "namespace"), "*") + "/" + name
	case has:
		parsed := &metav1.LabelSelector{}
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(selector, parsed)
		parameter = parsed.String()
	}
	return []any{f.GetName(), f.text("spec", "policyName"), parameter, f.age}
}

func (f printable) resourceClaim() []any {
	var states []string
	isDeleted := f.GetDeletionTimestamp() != nil
	if isDeleted {
		states = append(states, "deleted")
	}
	switch {
	case !f.has("status", "allocation") && !isDeleted:
		states = append(states, "pending")
	case f.has("status", "allocation"):
		if states = append(states, "allocated"); f.length("status", "reservedFor") > 0 {
			states = append(states, "reserved")
		}
	}
	return []any{f.GetName(), strings.Join(states, ","), f.age}
}

func (f printable) resourceSlice() []any {
	return []any{f.GetName(), f.text("spec", "nodeName"), f.text("spec", "driver"), f.text("spec", "pool", "name"), f.age}
}

func (f printable) flowSchema() []any {
	missing := "?"
	if c := f.condition("Dangling"); c != nil {
		missing = text(c, "status")
	}
	return []any{f.GetName(), f.text("spec", "priorityLevelConfiguration", "name"), f.number("spec", "matchingPrecedence"),
		cmp.Or(f.text("spec", "distinguisherMethod", "type"), none), f.age, missing}
}

func (f printable) priorityLevel() []any {
	row := []any{f.GetName(), f.text("spec", "type"), none, none, none, none, f.age}
	if f.has("spec", "limited") {
		row[2] = f.number("spec", "limited", "nominalConcurrencyShares")
	}
	if f.has("spec", "limited", "limitResponse", "queuing") {
		for i, field := range []string{"queues", "handSize", "queueLengthLimit"} {
			row[3+i] = f.number("spec", "limited", "limitResponse", "queuing", field)
		}
	}
	return row
}
