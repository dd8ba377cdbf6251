package kstatus

// Flux publishes Ready on every kind. What its Reconciling and Stalled say, the generic layer knows.
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
	return Failed.From(c.condition()), true
}

// fluxNotification has had no status since v1beta3.
func fluxNotification(o Object) (Result, bool) {
	return current, len(o.status) == 0 && !o.Bool("spec", "suspend")
}
