package kstatus

// Cloud resources by way of Crossplane, Config Connector, ACK, Azure Service Operator, Pulumi and Terraform.
var cloud = catalogue{
	"*.*.crossplane.io": crossplane,
	"*.*.upbound.io":    crossplane,
	"Provider,Configuration,Function.pkg.crossplane.io":                             either(falseFails("Installed"), needs("Installed", "Healthy"), signs),
	"ProviderRevision,ConfigurationRevision,FunctionRevision.pkg.crossplane.io":     either(crossplaneRevision, needs("Healthy"), signs),
	"DeploymentRuntimeConfig,ControllerConfig,ImageConfig,Lock.pkg.crossplane.io":   exists,
	"Composition,CompositionRevision,EnvironmentConfig.apiextensions.crossplane.io": exists,
	"CompositeResourceDefinition.apiextensions.crossplane.io":                       either(needs("Established"), signs),
	"*.*.cnrm.cloud.google.com":                                                     configConnector,
	"ConfigConnector,ConfigConnectorContext.core.cnrm.cloud.google.com":             configConnectorHealth,
	"*.*.services.k8s.aws":              ack,
	"*.*.azure.com":                     needs("Ready"),
	"Stack.pulumi.com":                  needs("Ready"),
	"Terraform.infra.contrib.fluxcd.io": either(suspendedWhen("spec", "suspend"), fluxReady),
}

// exists is the rule for kinds that nothing reports on, in families that otherwise do.
func exists(o Object) (Result, bool) { return current, len(o.conditions) == 0 }

var crossplanePaused = annotated("crossplane.io/paused", "true")

// crossplane is the rule for managed resources; the configurations of their providers have the same groups and no conditions.
func crossplane(o Object) (Result, bool) {
	switch o.kind {
	case "ProviderConfig", "ClusterProviderConfig", "ProviderConfigUsage", "ClusterProviderConfigUsage", "StoreConfig":
		return exists(o)
	}
	if r, ok := crossplanePaused(o); ok {
		return r, ok
	}
	if _, nested := o.status["conditionedStatus"]; nested {
		return Result{}, false // as in the days of stacks
	}
	return ready(o)
}

func pausedResult(c Condition) Result {
	r := Current.From(c)
	r.Suspended = true
	return r
}

// crossplaneRevision: inactive revisions are kept and not run.
func crossplaneRevision(o Object) (Result, bool) {
	if o.Text("spec", "desiredState") == "Inactive" {
		return suspended("spec", "desiredState"), true
	}
	return Result{}, false
}

// configConnector: its reasons for Ready=False say whether it still works on it.
func configConnector(o Object) (Result, bool) {
	c, ok := o.fresh("Ready")
	switch {
	case !ok:
		return InProgress.because("ConditionMissing", text("Waiting for condition Ready")).in("status.conditions", "Ready"), true
	case c.status != "False":
		return Result{}, false
	}
	switch c.reason() {
	case "Creating", "Updating", "Deleting", "DependencyNotReady", "DependencyNotFound", "Unmanaged":
		return InProgress.From(c.condition()), true
	}
	return Failed.From(c.condition()), true
}

func configConnectorHealth(o Object) (Result, bool) {
	healthy, told := o.status["healthy"].(bool)
	switch {
	case !told:
		return Result{}, false
	case healthy:
		return Current.Because("", "Healthy").in("status", "healthy"), true
	}
	return Failed.Because("Unhealthy", "Not healthy").in("status", "healthy"), true
}

var ackTerminal, ackRecoverable = when("ACK.Terminal", "True", Failed), when("ACK.Recoverable", "True", Failed)

// ack: a terminal error needs a change of the spec, a recoverable one may pass; what is not synced yet is on the way.
func ack(o Object) (Result, bool) {
	if r, ok := ackTerminal(o); ok {
		r.Terminal = true
		return r, true
	}
	if r, ok := ackRecoverable(o); ok {
		return r, true
	}
	c, ok := o.fresh("ACK.ResourceSynced")
	switch {
	case !ok:
		return InProgress.because("ConditionMissing", text("Waiting for condition ACK.ResourceSynced")).in("status.conditions", "ACK.ResourceSynced"), true
	case c.status == "True":
		return Current.From(c.condition()), true
	case c.status == "False" && (phraseTone(c.reason()).wrong() || phraseTone(c.message()).wrong()):
		return Failed.From(c.condition()), true
	}
	return InProgress.From(c.condition()), true
}
