package features

func workloadKinds() []Kind {
	return []Kind{
		kind("apps", "v1", "Deployment", "deployment",
			modelled("ReplicaSets of its templates are scaled", "TestRecordings", "spec.replicas", "spec.selector", "spec.template", "spec.minReadySeconds", "spec.strategy"),
			modelled("old ReplicaSets, pauses and deadlines", "TestRecordings", "spec.revisionHistoryLimit", "spec.paused", "spec.progressDeadlineSeconds"),
			status("TestRecordings")),
		kind("apps", "v1", "ReplicaSet", "replicaset",
			modelled("Pods are created and deleted", "TestRecordings", "spec.replicas", "spec.selector", "spec.template", "spec.minReadySeconds"), status("TestRecordings")),
		kind("", "v1", "ReplicationController", "replicationcontroller",
			modelled("Pods are created and deleted", "TestOwnersCountTheirPods", "spec.replicas", "spec.selector", "spec.template", "spec.minReadySeconds"), status("TestOwnersCountTheirPods")),
		kind("apps", "v1", "StatefulSet", "statefulset",
			modelled("Pods with ordinals and claims", "TestRecordings", "spec.replicas", "spec.selector", "spec.template", "spec.volumeClaimTemplates", "spec.serviceName",
				"spec.podManagementPolicy", "spec.minReadySeconds", "spec.ordinals", "spec.revisionHistoryLimit"),
			modelled("updates from the highest ordinal to the partition, or on deletion", "TestRecordings", "spec.updateStrategy.type", "spec.updateStrategy.rollingUpdate.partition"),
			modelled("claims are owned as the policy says", "TestClaimsAreOwnedByThePolicy", "spec.persistentVolumeClaimRetentionPolicy"),
			reported("dropped by the API server: its feature gate is off in 1.36", "spec.updateStrategy.rollingUpdate.maxUnavailable"),
			status("TestRecordings")),
		kind("apps", "v1", "DaemonSet", "daemonset",
			modelled("a Pod for each Node", "TestRecordings", "spec.selector", "spec.template", "spec.updateStrategy", "spec.minReadySeconds", "spec.revisionHistoryLimit"), status("TestRecordings")),
		kind("batch", "v1", "Job", "job", job(), otherFieldsOfJobs("spec."), status("TestRecordings")),
		kind("batch", "v1", "CronJob", "cronjob",
			modelled("Jobs by a schedule", "TestACronJobRunsJobsByItsSchedule", "spec.schedule", "spec.suspend", "spec.successfulJobsHistoryLimit", "spec.failedJobsHistoryLimit"),
			modelled("missed starts", "TestMissedStarts", "spec.startingDeadlineSeconds"),
			modelled("time zones, with changes of the clock", "TestSchedulesWhenClocksChange", "spec.timeZone"),
			modelled("Jobs run one after another, or at the same time", "TestACronJobHeedsItsConcurrencyPolicy", "spec.concurrencyPolicy"),
			modelled("Jobs have the labels and annotations of the template", "TestRecordings", "spec.jobTemplate.metadata"),
			modelled("Jobs have the spec of the template; see the fields of a Job", "TestRecordings", "spec.jobTemplate.spec"),
			otherFieldsOfJobs("spec.jobTemplate.spec."), status("TestRecordings")),
	}
}

// job are the rows of a Job's spec.
func job() []Row {
	return with("spec.",
		modelled("Pods run until enough have succeeded", "TestAJobCompletes", "parallelism", "completions", "template", "completionMode", "selector"),
		modelled("failures are counted, for the Job and for each index", "TestRecordings", "backoffLimit", "backoffLimitPerIndex", "maxFailedIndexes", "podFailurePolicy", "successPolicy", "podReplacementPolicy"),
		modelled("a deadline, a pause, and the deletion of a finished Job", "TestRecordings", "activeDeadlineSeconds", "suspend", "ttlSecondsAfterFinished"),
		modelled("a Job that another controller manages is left alone", "TestJobs", "managedBy"),
	)
}

// otherFieldsOfJobs are the fields of a Job's spec that are not modelled.
func otherFieldsOfJobs(at string) []Row {
	return with(at,
		reportedUnless("the API server draws the selector from the uid", "manualSelector", "false"),
		reported("Pods that are scheduled together", "scheduling"),
	)
}

// status is the row of a status that a controller writes.
func status(test string) []Row { return modelled("what the controller writes", test, "status") }
