package kstatus

// extended is the profile that is right more often.
var extended = (&Rules{before: extendedBefore, upstream: true, after: extendedAfter, waitForJobs: true, transient: true}).With(
	reporting(join(argo, batch, certManager, cloud, clusters, data, flux, kruise, network, platform, workloads)),
).With(join(extendedWorkloads, extendedBuiltin, reporters))

// Extended returns the rules that are right more often than upstream. They differ in that
//
//   - an object without a status is InProgress, unless its kind never has one, or is one that nobody knows and has got none for five minutes;
//   - an observedGeneration counts in digits too, only one that is behind blocks, and conditions about an older generation are not believed;
//   - built-in kinds are looked at more closely: containers that cannot start, load balancers without an address, paused and failed roll-outs, and
//     Jobs, which are waited for (see [Rules.WaitForJobs]);
//   - some 200 kinds of custom resources have rules of their own: those of Argo, cert-manager, Cluster API, Crossplane, Flux, Gateway API, Kueue and others;
//   - for all other kinds the words of a status decide. Ready=False is Failed if its reason or message tells an error, InProgress if not; the types of
//     other conditions tell by their last word what they stand for (PodsHealthy, InstallFailed, Progressing); so do phases, flags and counts. The
//     worst sign decides, except that Ready=True overrules the conditions of parts;
//   - what is paused on purpose is Current and Suspended, and what will not get better by itself is Terminal.
//
// What it says of the cases of Argo CD's own tests, and why where it disagrees, stands in extended_scores_test.go.
func Extended() *Rules { return extended }
