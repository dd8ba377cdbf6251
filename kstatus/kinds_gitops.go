package kstatus

import (
	"github.com/stagecraft-go/stagecraft/internal/object"
)

// argo has the rules for Argo Workflows, Rollouts, CD, Events and the GitOps Promoter.
var argo = kindTable{
	"Workflow.argoproj.io":                    workflow,
	"CronWorkflow.argoproj.io":                either(suspendedWhen("spec", "suspend"), cronWorkflow),
	"Rollout.argoproj.io":                     either(suspendedWhen("spec", "paused"), rolloutWorkload, argoRollout),
	"SpotDeployment.spot.io":                  argoRollout,
	"AnalysisRun,Experiment.argoproj.io":      argoRun,
	"Application.argoproj.io":                 application,
	"ApplicationSet.argoproj.io":              either(applicationSet, needs("ResourcesUpToDate")),
	"EventBus,EventSource,Sensor.argoproj.io": needs("Deployed"),
	"ArgoCD.argoproj.io": phaseTable{
		inProgress: "Pending, Unknown",
		current:    "Available",
		failed:     "Failed",
	}.at("status", "phase"),
	"PromotionStrategy.promoter.argoproj.io":    either(promoterReady, promotesNothing("environments"), promotionStrategy),
	"ArgoCDCommitStatus.promoter.argoproj.io":   either(promoterReady, promotesNothing("applicationsSelected"), promoterGates),
	"ChangeTransferPolicy.promoter.argoproj.io": either(promoterReady, promotion),
	"CommitStatus.promoter.argoproj.io":         promoterReady, // its phase is that of a commit
	"*.promoter.argoproj.io":                    either(promoterReady, promoterGates),
}

var (
	workflow = either(workflowSuspended, phaseTable{
		inProgress: "Pending, Running",
		current:    "Succeeded",
		fatal:      "Failed, Error",
		empty:      InProgress,
	}.at("status", "phase"))

	argoRun = phaseTable{
		inProgress: "Pending, Running",
		current:    "Successful",
		fatal:      "Failed, Error, Inconclusive",
		empty:      InProgress,
	}.at("status", "phase")

	rolloutPhase = phaseTable{
		inProgress: "Progressing",
		current:    "Healthy",
		suspended:  "Paused",
		failed:     "Degraded",
	}.at("status", "phase")
)

func workflowSuspended(o Object) (Result, bool) {
	return suspendedBy("spec", "suspend"), o.Bool("spec", "suspend") && o.Text("status", "phase") != "Succeeded"
}

// cronWorkflow is Current as soon as it exists, unless it has an error.
func cronWorkflow(o Object) (Result, bool) {
	if c, ok := o.find("SpecError", "True", ""); ok {
		return Failed.From(c), true
	}
	if c, ok := o.find("SubmissionError", "True", ""); ok {
		return Failed.From(c), true
	}
	return current, true
}

// rolloutWorkload waits until the controller has seen the workload to which a Rollout refers
// (argo-rollouts, pkg/apis/rollouts/v1alpha1/types.go, workloadObservedGeneration).
func rolloutWorkload(o Object) (Result, bool) {
	annotations, _ := object.ToMap(o.metadata["annotations"])
	latest, _ := integer(annotations["rollout.argoproj.io/workload-generation"])
	observed, ok := o.Int("status", "workloadObservedGeneration")
	if !ok || latest <= observed {
		return Result{}, false
	}
	m := withNumbers("Workload generation is %d, but latest observed generation is %d", latest, observed)
	return inProgress("LatestGenerationNotObserved", m, "status.workloadObservedGeneration"), true
}

// argoRollout reads the phase. Before version 1.1, a Rollout has the counts of a Deployment instead.
func argoRollout(o Object) (Result, bool) {
	if r, ok := rolloutPhase(o); ok {
		return r, true
	}
	if c, ok := o.find("InvalidSpec", "True", ""); ok {
		return Failed.From(c), true
	}
	if c, ok := o.Condition("Progressing"); ok && isError(c.Reason) {
		return Failed.From(c), true
	}
	if o.Bool("status", "abort") {
		return Failed.Because("RolloutAborted", "Rollout is aborted").At("status.abort"), true
	}
	if o.Bool("status", "controllerPause") || len(o.List("status", "pauseConditions")) > 0 {
		return suspendedBy("status", "pauseConditions"), true
	}
	return rolloutReplicas(&o)
}

func rolloutReplicas(o *Object) (Result, bool) {
	wanted, replicas := o.IntOr(1, "spec", "replicas"), o.count("replicas")
	updated, available := o.count("updatedReplicas"), o.count("availableReplicas")
	switch {
	case len(o.status) == 0:
		return Result{}, false
	case updated < wanted:
		return inProgress("LessUpdated", withNumbers("Updated: %d/%d", updated, wanted), "status.updatedReplicas"), true
	case available < wanted:
		return inProgress("LessAvailable", withNumbers("Available: %d/%d", available, wanted), "status.availableReplicas"), true
	case replicas > updated:
		return inProgress("ExtraPods", withNumbers("Pending termination: %d", replicas-updated), "status.replicas"), true
	}
	return Current.because("", withNumbers("Rollout is available. Replicas: %d", replicas)), true
}

// application reads the health that Argo CD computed, unless the last operation is running or has
// failed.
var application = either(
	phaseTable{
		inProgress: "Running, Terminating",
		failed:     "Failed, Error",
	}.at("status", "operationState", "phase"),
	when("SyncError", "True", Failed),
	phaseTable{
		inProgress: "Progressing, Missing, Unknown",
		current:    "Healthy",
		suspended:  "Suspended",
		failed:     "Degraded",
		empty:      InProgress,
	}.at("status", "health", "status"),
)

func applicationSet(o Object) (Result, bool) {
	if c, ok := o.find("ErrorOccurred", "True", ""); ok {
		return Failed.From(c), true
	}
	c, ok := o.find("RolloutProgressing", "True", "")
	return InProgress.From(c), ok
}

// promoterReady is Failed if Ready is False, which the promoter only writes after an error.
// Ready=True says that the object was reconciled, not that its gates are open.
var promoterReady = either(falseFails("Ready"), needs("Ready"))

// promotesNothing is Failed if the list of what an object is about is there and empty.
func promotesNothing(field string) Rule {
	return func(o Object) (Result, bool) {
		list, ok := object.ToSlice(o.status[field])
		return Failed.because("NothingSelected", withWords("%s is empty", field)).atItem("status", field), ok && len(list) == 0
	}
}

// promoterGates returns the worst verdict of the commit statuses of all environments.
func promoterGates(o Object) (Result, bool) {
	worst, found := Result{}, false
	for _, item := range o.List("status", "environments") {
		environment, _ := object.ToMap(item)
		phase, _ := environment["phase"].(string)
		status, known := gates[phase]
		if !known {
			continue
		}
		branch, _ := environment["branch"].(string)
		r := status.because("Gate", withWords("Gate of %s: %s", branch, phase)).At("status.environments")
		if !found || r.isWorse(worst) {
			worst, found = r, true
		}
	}
	return worst, found && worst.Status != Current
}

var gates = map[string]Status{"pending": InProgress, "failure": Failed, "success": Current}

// promotionStrategy is Current when the active commit of every environment is the proposed one, and
// the proposals of all environments are equal.
func promotionStrategy(o Object) (Result, bool) {
	target := ""
	for _, item := range o.List("status", "environments") {
		environment, _ := object.ToMap(item)
		if r, waits := promoting(environment); waits {
			return r, true
		}
		sha, noted := object.String(environment, "proposed", "note", "drySha")
		if !noted || sha == "" {
			sha, _ = object.String(environment, "proposed", "dry", "sha")
		}
		if target != "" && sha != target {
			return inProgress("ProposalsDiffer", text("The environments do not have the same proposal yet"), "status.environments"), true
		}
		target = sha
	}
	return Result{}, false
}

func promotion(o Object) (Result, bool) { return promoting(o.status) }

// promoting compares the active commit of an environment with the proposed one.
func promoting(environment map[string]any) (Result, bool) {
	active, _ := object.String(environment, "active", "dry", "sha")
	proposed, _ := object.String(environment, "proposed", "dry", "sha")
	switch {
	case active == "" || proposed == "":
		return inProgress("CommitMissing", text("The active or the proposed commit is not known yet"), "status"), true
	case active != proposed:
		return inProgress("Promoting", withWords("Promoting from %s to %s", active, proposed), "status"), true
	}
	return Result{}, false
}

// flux has the rules for Flux, which writes Ready on every kind. The general rules read its
// Reconciling and Stalled.
var flux = kindTable{
	"*.*.toolkit.fluxcd.io": either(
		suspendedWhen("spec", "suspend"),
		fluxReady,
	),
	"HelmRepository.source.toolkit.fluxcd.io":                    either(suspendedWhen("spec", "suspend"), ociRepository, fluxReady),
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

// ociRepository is the rule for a HelmRepository of type oci, on which nothing reports
// (source-controller, api/v1/helmrepository_types.go: "static" for this type).
func ociRepository(o Object) (Result, bool) {
	return current, o.Text("spec", "type") == "oci" && len(o.conditions) == 0
}

// fluxNotification is the rule for kinds that have had no status since v1beta3.
func fluxNotification(o Object) (Result, bool) {
	return current, len(o.status) == 0 && !o.Bool("spec", "suspend")
}
