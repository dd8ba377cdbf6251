package kstatus

import "github.com/stagecraft-go/stagecraft/internal/object"

// network has the rules for Knative, Istio, Gloo, Contour, Gateway API and routes of other APIs.
var network = kindTable{
	"*.serving.knative.dev":              readyOrFailed,
	"*.eventing.knative.dev":             readyOrFailed,
	"*.messaging.knative.dev":            readyOrFailed,
	"*.sources.knative.dev":              readyOrFailed,
	"*.flows.knative.dev":                readyOrFailed,
	"*.networking.internal.knative.dev":  readyOrFailed,
	"*.autoscaling.internal.knative.dev": readyOrFailed,
	"*.operator.knative.dev":             needs("Ready"),
	"IstioOperator.install.istio.io": phaseTable{
		inProgress: "NONE, UPDATING, RECONCILING",
		current:    "HEALTHY",
		failed:     "ERROR, ACTION_REQUIRED",
		empty:      InProgress,
	}.at("status", "status"),

	"*.gateway.solo.io":         gloo,
	"*.gloo.solo.io":            gloo,
	"*.enterprise.gloo.solo.io": gloo,
	"HTTPProxy.projectcontour.io": either(phaseTable{
		inProgress: "NotReconciled",
		failed:     "orphaned",
		fatal:      "invalid",
		empty:      InProgress,
	}.at("status", "currentStatus")),

	"Gateway.gateway.networking.k8s.io":        needs("Accepted", "Programmed"),
	"GatewayClass.gateway.networking.k8s.io":   needs("Accepted"),
	"ReferenceGrant.gateway.networking.k8s.io": exists,
	"Function.openfaas.com":                    openFaaS,
	"Route.route.openshift.io":                 openShiftRoute,
}

// gloo returns the worst state. The status has one state, or one for each controller that reports,
// as text or as a number.
func gloo(o Object) (Result, bool) {
	worst, found := glooState(o.status)
	statuses, _ := object.ToMap(o.status["statuses"])
	first := ""
	for reporter, v := range statuses {
		report, _ := object.ToMap(v)
		r, ok := glooState(report)
		if ok && (!found || r.isWorse(worst) || !worst.isWorse(r) && reporter < first) {
			worst, found, first = r, true, reporter
		}
	}
	return worst, found
}

func glooState(report map[string]any) (Result, bool) {
	state, _ := report["state"].(string)
	if n, ok := integer(report["state"]); ok && 0 <= n && n < int64(len(glooStates)) {
		state = glooStates[n]
	}
	status, known := glooStatus[state]
	r := status.because(phaseReason(status, state), withWords("State is %s", state)).At("status.state")
	if why, _ := report["reason"].(string); why != "" {
		r.message = text(why)
	}
	return r, known
}

var glooStates = [...]string{"Pending", "Accepted", "Rejected", "Warning"}

var glooStatus = map[string]Status{"Pending": InProgress, "Accepted": Current, "Rejected": Failed, "Warning": Failed}

// openFaaS is suspended if a function is scaled to zero: Healthy is False although Ready is True.
func openFaaS(o Object) (Result, bool) {
	c, ok := o.fresh("Healthy")
	if _, ready := o.find("Ready", "True", ""); ready && ok && c.status == "False" {
		return Current.From(c.condition()).suspended(), true
	}
	return Result{}, false
}

// openShiftRoute waits until at least one router has admitted the route.
func openShiftRoute(o Object) (Result, bool) {
	ingress := o.List("status", "ingress")
	if len(ingress) == 0 {
		return inProgress("NotAdmitted", text("No router has admitted the route yet"), "status.ingress"), true
	}
	return Result{}, false
}
