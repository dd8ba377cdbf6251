package main

// falseCurrentReasons says for each case that Extended calls Current, and its source does not, why.
var falseCurrentReasons = map[string]string{
	"core.spinkube.dev/SpinApp/progressing": "The conditions are those of the Deployment: Progressing=True with reason NewReplicaSetAvailable is " +
		"a finished roll-out (k8s.io/api/apps/v1, DeploymentProgressing), and 2 of 2 replicas are ready.",
	"apps.kruise.io/AdvancedCronJob/notScheduled": "It has not been scheduled yet: nothing has failed, and a schedule that is not due is in place. The same " +
		"source calls a CronJob in this state healthy.",
	"apps.kruise.io/DaemonSet/no-update-strategy-partition": "desiredNumberScheduled is 0 and the generation is observed: no node matches, so that nothing is to come " +
		"(k8s.io/api/apps/v1, DaemonSetStatus, whose fields it has).",
	"astra.netapp.io/AppVault/progressing_nostatus": "No status after five minutes, and no finalizer: nothing in the object says that one will come. With " +
		"the definition of the kind (DefinitionReader) it is InProgress. The API is not published as a Go module.",
	"astra.netapp.io/ExecHook/progressing_nostatus": "As AppVault. The same source calls the same object healthy if spec.enabled is written out.",
	"karmada/HelmRelease/1-Test-interpreting-health-of-HelmRelease-when-Ready-condition": "InstallSucceeded is a reason with which the helm-controller " +
		"writes Ready=True (helm-controller/api/v2, InstallSucceededReason: the installation succeeded).",
	"auto-ready/CronJob/unhealthy_cronjob_-_never_succeeded": "A CronJob is in place when it is stored (k8s.io/api/batch/v1, CronJobStatus: no field says that it " +
		"is ready). Argo CD calls the same state healthy.",
	"auto-ready/CronJob/progressing_cronjob_-_not_yet_scheduled": "As above: the first run may be a year away.",
}
