package kstatus

// Flux publishes Ready on every kind; while it retries after a failure, Reconciling is True with the reason ProgressingWithRetry. The last
// attempt has failed all the same: Failed, not terminal.
var flux = catalogue{
	"*.*.toolkit.fluxcd.io":                                      either(suspendedWhen("spec", "suspend"), fluxReady),
	"Alert,Provider.notification.toolkit.fluxcd.io":              fluxNotification,
	"FluxInstance,FluxReport,ResourceSet.fluxcd.controlplane.io": fluxReady,
}

func fluxReady(o Object) (Result, bool) {
	c, ok := o.fresh("Ready")
	if !ok || c.status != "False" || c.reason() == "Progressing" || c.reason() == "DependencyNotReady" {
		return ready(o)
	}
	r := Failed.From(c.condition())
	_, r.Terminal = o.find(Stalled, "True", "")
	return r, true
}

// fluxNotification has had no status since v1beta3.
func fluxNotification(o Object) (Result, bool) {
	return current, len(o.status) == 0 && !o.Bool("spec", "suspend")
}
