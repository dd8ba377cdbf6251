package kstatus

import (
	"encoding/json"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// The other built-in kinds.
var extendedBuiltin = catalogue{
	"Service.":                                      serviceExtended,
	"PersistentVolumeClaim.":                        vocabulary{fatal: "Lost"}.says("status", "phase"),
	"Namespace.":                                    vocabulary{current: "Active", inProgress: "Terminating"}.says("status", "phase"),
	"ResourceClaim.resource.k8s.io":                 claimed,
	"ResourceQuota.":                                quota,
	"Ingress.networking.k8s.io":                     balanced,
	"Ingress.extensions":                            balanced,
	"HorizontalPodAutoscaler.autoscaling":           autoscaler,
	"CustomResourceDefinition.apiextensions.k8s.io": when("NonStructuralSchema", "True", Failed),
	"CertificateSigningRequest.certificates.k8s.io": signingRequest,
}

// serviceExtended waits for the address that a load balancer gets from outside.
func serviceExtended(o Object) (Result, bool) {
	if o.Text("spec", "type") != "LoadBalancer" || o.Text("spec", "clusterIP") == "" || len(o.List("spec", "externalIPs")) > 0 {
		return Result{}, false
	}
	return balanced(o)
}

// balanced is Current once a load balancer has an address.
func balanced(o Object) (Result, bool) {
	if len(o.List("status", "loadBalancer", "ingress")) == 0 {
		return InProgress.Because("NoAddress", "Waiting for an address of the load balancer").At("status.loadBalancer.ingress"), true
	}
	return Current.Because("", "Load balancer has an address").At("status.loadBalancer.ingress"), true
}

// claimed is Current once devices are allocated, which happens with the first Pod that uses them.
func claimed(o Object) (Result, bool) {
	if o.Value("status", "allocation") == nil {
		return InProgress.Because("NotAllocated", "Waiting for devices").At("status.allocation"), true
	}
	return Current.Because("", "Devices are allocated").At("status.allocation"), true
}

func quota(o Object) (Result, bool) {
	if len(o.Map("status", "hard")) < len(o.Map("spec", "hard")) {
		return InProgress.Because("QuotaNotObserved", "The limits are not in force yet").At("status.hard"), true
	}
	return Current.Because("", "The limits are in force").At("status.hard"), true
}

// signingRequest waits for the certificate: to approve a request is but to allow its signer to issue one. Denied and Failed cannot be taken back.
func signingRequest(o Object) (Result, bool) {
	for _, kind := range [...]string{"Denied", "Failed"} {
		if c, ok := o.find(kind, "True", ""); ok {
			r := Failed.From(c)
			r.Terminal = true
			return r, true
		}
	}
	_, approved := o.find("Approved", "True", "")
	switch {
	case !approved:
		return o.missing("Approved", glance{}, false), true
	case o.Value("status", "certificate") == nil:
		return InProgress.Because("NotIssued", "Waiting for the certificate").At("status.certificate"), true
	}
	return Current.Because("", "The certificate is issued").At("status.certificate"), true
}

// autoscaler reads the conditions, which version 1 of the API hides in an annotation.
func autoscaler(o Object) (Result, bool) {
	if annotations, _ := object.ToMap(o.metadata["annotations"]); len(o.conditions) == 0 {
		hidden, _ := annotations["autoscaling.alpha.kubernetes.io/conditions"].(string)
		o.conditions = decodeList(hidden)
		o.survey()
	}
	for c := range o.Conditions() {
		if c.Status == "False" && phraseTone(c.Reason).wrong() {
			return Failed.From(c), true
		}
	}
	if c, able := o.find("AbleToScale", "True", ""); able {
		return Current.From(c), true
	}
	return InProgress.Because("NotAbleToScale", "Waiting for condition AbleToScale").in("status.conditions", "AbleToScale"), true
}

func decodeList(s string) (list []any) {
	if s != "" && json.Unmarshal([]byte(s), &list) != nil {
		return nil
	}
	return list
}
