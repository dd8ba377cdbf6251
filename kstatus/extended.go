package kstatus

// extended is the profile that is right more often.
var extended = (&Rules{before: extendedBefore, kinds: kinds(standardKinds), after: extendedAfter, waitForJobs: true, transient: true}).With(
	join(extendedWorkloads, extendedBuiltin, certManager, flux, argo, cloud, clusters, network, data, workloads, batch, platform),
)

// Extended returns the rules that are right more often than upstream.
func Extended() *Rules { return extended }
