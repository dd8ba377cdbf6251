package kstatus

import (
	"github.com/stagecraft-go/stagecraft/internal/object"
)

// Argo: Workflows, Rollouts, CD, Events and the GitOps Promoter.
var argo = catalogue{
	"Workflow.argoproj.io":                      workflow,
	"CronWorkflow.argoproj.io":                  either(suspendedWhen("spec", "suspend"), cronWorkflow),
	"Rollout.argoproj.io":                       either(suspendedWhen("spec", "paused"), argoRollout),
	"SpotDeployment.spot.io":                    argoRollout,
	"AnalysisRun,Experiment.argoproj.io":        argoRun,
	"Application.argoproj.io":                   application,
	"ApplicationSet.argoproj.io":                either(applicationSet, needs("ResourcesUpToDate")),
	"EventBus,EventSource,Sensor.argoproj.io":   needs("Deployed"),
	"ArgoCD.argoproj.io":                        vocabulary{inProgress: "Pending, Unknown", current: "Available", failed: "Failed"}.says("status", "phase"),
	"PromotionStrategy.promoter.argoproj.io":    either(promoterReady, promotionStrategy),
	"ChangeTransferPolicy.promoter.argoproj.io": either(promoterReady, promotion),
	"CommitStatus.promoter.argoproj.io":         promoterReady, // its phase is what it reports of a commit
	"*.promoter.argoproj.io":                    either(promoterReady, promoterGates),
}

var (
	workflow = either(workflowSuspended, vocabulary{
		inProgress: "Pending, Running", current: "Succeeded", fatal: "Failed, Error", empty: InProgress,
	}.says("status", "phase"))

	argoRun = vocabulary{
		inProgress: "Pending, Running", current: "Successful", fatal: "Failed, Error, Inconclusive", empty: InProgress,
	}.says("status", "phase")

	rolloutPhase = vocabulary{inProgress: "Progressing", current: "Healthy", suspended: "Paused", failed: "Degraded"}.says("status", "phase")
)

func workflowSuspended(o Object) (Result, bool) {
	return suspended("spec", "suspend"), o.Bool("spec", "suspend") && o.Text("status", "phase") != "Succeeded"
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
	if c, ok := o.Condition("Progressing"); ok && phraseTone(c.Reason).wrong() {
		return Failed.From(c), true
	}
	if o.Bool("status", "abort") {
		return Failed.Because("RolloutAborted", "Rollout is aborted").At("status.abort"), true
	}
	if o.Bool("status", "controllerPause") || len(o.List("status", "pauseConditions")) > 0 {
		return suspended("status", "pauseConditions"), true
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
		return progress("LessUpdated", counted("Updated: %d/%d", updated, wanted), "status.updatedReplicas")
	case available < wanted:
		return progress("LessAvailable", counted("Available: %d/%d", available, wanted), "status.availableReplicas")
	case replicas > updated:
		return progress("ExtraPods", counted("Pending termination: %d", replicas-updated), "status.replicas")
	}
	return Current.saying(counted("Rollout is available. Replicas: %d", replicas)), true
}

// application reads Argo CD's own verdict, unless the last operation goes on or has failed.
var application = either(
	vocabulary{inProgress: "Running, Terminating", failed: "Failed, Error"}.says("status", "operationState", "phase"),
	when("SyncError", "True", Failed),
	vocabulary{
		inProgress: "Progressing, Missing, Unknown", current: "Healthy", suspended: "Suspended", failed: "Degraded", empty: InProgress,
	}.says("status", "health", "status"),
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
		r := status.because("Gate", named("Gate of %s: %s", branch, phase)).At("status.environments")
		if !found || r.worse(worst) {
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
			return InProgress.Because("ProposalsDiffer", "The environments do not have the same proposal yet").At("status.environments"), true
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
		return InProgress.Because("CommitMissing", "The active or the proposed commit is not known yet").At("status"), true
	case active != proposed:
		return InProgress.because("Promoting", named("Promoting from %s to %s", active, proposed)).At("status"), true
	}
	return Result{}, false
}
