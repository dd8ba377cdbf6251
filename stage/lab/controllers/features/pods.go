package features

import "strings"

func podKinds() []Kind {
	return []Kind{kind("", "v1", "Pod", "",
		modelled("a Pod runs on the Node that it is bound to", "TestPodsWaitForNodes", "spec.nodeName"),
		modelled("filters and scores of the scheduler", "TestSameDecisions", "spec.nodeSelector", "spec.affinity", "spec.tolerations",
			"spec.topologySpreadConstraints", "spec.overhead", "spec.resources.requests", "spec.resources.limits", "spec.hostNetwork"),
		modelled("priority and preemption", "TestAPodPreemptsByItsPriorityClass", "spec.priorityClassName", "spec.priority", "spec.preemptionPolicy"),
		modelled("a scheduler takes the Pods that name it", "TestSameDecisions", "spec.schedulerName"),
		modelled("a Pod waits until its gates are gone", "TestAGatedPodWaitsUntilItsGatesAreOpen", "spec.schedulingGates"),
		modelled("a claim is bound, and the Pod runs where its volume is", "TestAClaimIsBoundWhereItsClassAllows",
			"spec.volumes[].name", "spec.volumes[].persistentVolumeClaim"),
		modelled("how a Pod and its containers end and start again", "TestCases", "spec.restartPolicy", "spec.terminationGracePeriodSeconds", "spec.activeDeadlineSeconds"),
		modelled("a Pod is ready only if the conditions of its gates are True", "TestCases", "spec.readinessGates"),
		modelled("names of a Pod in EndpointSlices", "TestEndpointsListThePodsOfAService", "spec.hostname", "spec.subdomain"),
		containers("spec.containers[]"), containers("spec.initContainers[]"),
		onNodes("how containers run", "spec.containers[].restartPolicy", "spec.initContainers[].env"),
		also("the Job controller, which adds the index of an indexed Job", "TestJobs", onNodes("how containers run", "spec.containers[].env")),
		modelled("sidecars", "TestCases", "spec.initContainers[].restartPolicy"),
		modelled("a Node scores higher if it has the images", "TestSameDecisions", "spec.volumes[].image"),
		also("the scheduler, which leaves such a Pod waiting", "TestResourceClaimsAreReported", reported("dynamic resource allocation", "spec.resourceClaims")),
		reported("dynamic resource allocation", "spec.resources.claims"),
		modelled("a claim is created for the volume", "TestEphemeralVolumes", "spec.volumes[].ephemeral"),
		modelled("two Pods must not write to the same disk", "TestTwoPodsDoNotWriteToOneDisk", "spec.volumes[].gcePersistentDisk", "spec.volumes[].awsElasticBlockStore", "spec.volumes[].rbd", "spec.volumes[].iscsi"),
		modelled("overhead and Nodes of a RuntimeClass", "TestRuntimeClasses", "spec.runtimeClassName"),
		reported("Pods that are scheduled together", "spec.schedulingGroup", "spec.workloadRef"),
		serviceAccount("spec.serviceAccountName"), serviceAccount("spec.serviceAccount"),
		onNodes("volumes", volumesOnNodes()...),
		onNodes("how containers run", "spec.ephemeralContainers", "spec.securityContext", "spec.hostPID", "spec.hostIPC", "spec.hostUsers",
			"spec.shareProcessNamespace", "spec.os", "spec.imagePullSecrets", "spec.automountServiceAccountToken", "spec.enableServiceLinks"),
		onNodes("names and addresses", "spec.dnsPolicy", "spec.dnsConfig", "spec.hostAliases", "spec.setHostnameAsFQDN", "spec.hostnameOverride"),
		modelled("what a kubelet writes", "TestCases", "status"),
	)}
}

// serviceAccount is the row of the name of a ServiceAccount.
func serviceAccount(path string) []Row {
	const reader = "the server of stage/lab/apiserver with its option ServiceAccounts, which does the same"
	return withHooks("serviceaccounts", also(reader, "TestServiceAccountsOfPods", reportedUnless("the ServiceAccount has to exist", path, "default")))
}

// containers are the rows of a container.
func containers(at string) []Row {
	at += "."
	return with(at,
		modelled("containers are found by name", "TestCases", "name"),
		modelled("a container runs as long as its command says; an image can be missing", "TestCases", "image", "command", "args"),
		modelled("probes, answered by an annotation", "TestCases", "livenessProbe", "readinessProbe", "startupProbe"),
		modelled("requests fit into what a Node offers", "TestSameDecisions", "resources.requests", "resources.limits"),
		modelled("host ports are free, ports have names", "TestSameDecisions", "ports"),
		modelled("an attached client can write to the process", "TestAttach", "stdin"),
		reported("dynamic resource allocation", "resources.claims"),
		onNodes("how containers run", "workingDir", "envFrom", "volumeMounts", "volumeDevices", "lifecycle", "restartPolicyRules", "resizePolicy",
			"terminationMessagePath", "terminationMessagePolicy", "imagePullPolicy", "securityContext", "stdinOnce", "tty"),
	)
}

// with returns rows with a prefix before their paths.
func with(prefix string, groups ...[]Row) (all []Row) {
	for _, group := range groups {
		for _, r := range group {
			r.Path = prefix + r.Path
			all = append(all, r)
		}
	}
	return all
}

// volumesOnNodes are the volumes of Pods that only a Node reads.
func volumesOnNodes() (paths []string) {
	for name := range strings.FieldsSeq(`hostPath emptyDir secret configMap downwardAPI projected csi nfs gitRepo glusterfs flexVolume cinder cephfs flocker fc
		azureFile azureDisk vsphereVolume quobyte photonPersistentDisk portworxVolume scaleIO storageos`) {
		paths = append(paths, "spec.volumes[]."+name)
	}
	return paths
}
