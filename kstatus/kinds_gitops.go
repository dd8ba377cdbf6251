package kstatus

import (
	"github.com/stagecraft-go/stagecraft/internal/object"
)

// Argo: Workflows, Rollouts, CD, Events and the GitOps Promoter.
var argo = kindTable{
	"Workflow.argoproj.io":                      workflow,
	"CronWorkflow.argoproj.io":                  either(suspendedWhen("spec", "suspend"), cronWorkflow),
	"Rollout.argoproj.io":                       either(suspendedWhen("spec", "paused"), argoRollout),
	"SpotDeployment.spot.io":                    argoRollout,
	"AnalysisRun,Experiment.argoproj.io":        argoRun,
	"Application.argoproj.io":                   application,
	"ApplicationSet.argoproj.io":                either(applicationSet, needs("ResourcesUpToDate")),
	"EventBus,EventSource,Sensor.argoproj.io":   needs("Deployed"),
	"ArgoCD.argoproj.io":                        phaseTable{inProgress: "Pending, Unknown", current: "Available", failed: "Failed"}.at("status", "phase"),
	"PromotionStrategy.promoter.argoproj.io":    either(promoterReady, promotionStrategy),
	"ChangeTransferPolicy.promoter.argoproj.io": either(promoterReady, promotion),
	"CommitStatus.promoter.argoproj.io":         promoterReady, // its phase is what it reports of a commit
	"*.promoter.argoproj.io":                    either(promoterReady, promoterGates),
}

var (
	workflow = either(workflowSuspended, phaseTable{
		inProgress: "Pending, Running", current: "Succeeded", fatal: "Failed, Error", empty: InProgress,
	}.at("status", "phase"))

	argoRun = phaseTable{
		inProgress: "Pending, Running", current: "Successful", fatal: "Failed, Error, Inconclusive", empty: InProgress,
	}.at("status", "phase")

	rolloutPhase = phaseTable{inProgress: "Progressing", current: "Healthy", suspended: "Paused", failed: "Degraded"}.at("status", "phase")
)

func workflowSuspended(o Object) (Result, bool) {
	return suspendedBy("spec", "suspend"), o.Bool("spec", "suspend") && o.Text("status", "phase") != "Succeeded"
}

// cronWorkflow is in force as soon as it exists.
func cronWorkflow(o Object) (Result, bool) {
	if c, ok := o.find("SpecError", "True", ""); ok {
		return Failed.From(c), true
	}
	if c, ok := o.find("SubmissionError", "True", ""); ok {
		return Failed.From(c), true
	}
	return current, true
}

// argoRollout reads the phase, or, before version 1.1, what Deployments have.
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

// application reads Argo CD's own verdict, unless the last operation goes on or has failed.
var application = either(
	phaseTable{inProgress: "Running, Terminating", failed: "Failed, Error"}.at("status", "operationState", "phase"),
	when("SyncError", "True", Failed),
	phaseTable{
		inProgress: "Progressing, Missing, Unknown", current: "Healthy", suspended: "Suspended", failed: "Degraded", empty: InProgress,
	}.at("status", "health", "status"),
)

func applicationSet(o Object) (Result, bool) {
	for c := range o.Conditions() {
		switch {
		case c.Type == "ErrorOccurred" && c.Status == "True":
			return Failed.From(c), true
		case c.Type == "RolloutProgressing" && c.Status == "True":
			return InProgress.From(c), true
		}
	}
	return Result{}, false
}

// promoterReady is Failed when Ready is False: the promoter knows no other reason for it. One that is True says that the object was
// looked at, not that its gates are open.
var promoterReady = either(falseFails("Ready"), needs("Ready"))

// promoterGates is the verdict of commit statuses, environment by environment.
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

// promotionStrategy is Current when every environment has what was proposed for it, and all the same was.
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

// promoting compares what is active in an environment with what is proposed.
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

// Flux publishes Ready on every kind. What its Reconciling and Stalled say, the generic layer knows.
var flux = kindTable{
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
