package features

import "slices"

// A Part is a controller of kube-controller-manager or an admission plugin of kube-apiserver.
type Part struct {
	// Name is the name in --controllers or --enable-admission-plugins.
	Name string
	State
	// Feature is what the part does, in a few words.
	Feature string
	// Test is the name of the test that shows a modelled part.
	Test string
	// Uses are the rows of [Kinds], as a kind and a path, whose use is reported because the part is
	// missing.
	Uses []string
}

// Controllers returns the controllers of kube-controller-manager 1.36 by name.
func Controllers() []Part {
	return sorted(slices.Concat(workloadControllers(), objectControllers(), volumeControllers(), clusterControllers(), controllersThatAreOff()))
}

// AdmissionPlugins returns the admission plugins of kube-apiserver 1.36 by name.
func AdmissionPlugins() []Part {
	return sorted(slices.Concat(defaultPlugins(), pluginsThatAreOff()))
}

func sorted(all []Part) []Part {
	slices.SortFunc(all, func(a, b Part) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return all
}

func does(name, feature, test string) Part {
	return Part{Name: name, State: Modelled, Feature: feature, Test: test}
}

func reports(name, feature string, uses ...string) Part {
	return Part{Name: name, State: Reported, Feature: feature, Uses: uses}
}

func isOff(name, feature string) Part { return Part{Name: name, State: Off, Feature: feature} }

func workloadControllers() []Part {
	return []Part{
		does("cronjob-controller", "Jobs by a schedule", "TestACronJobRunsJobsByItsSchedule"),
		does("daemonset-controller", "a Pod for each Node", "TestRecordings"),
		does("deployment-controller", "ReplicaSets of its templates", "TestRecordings"),
		does("job-controller", "Pods until enough have succeeded", "TestAJobCompletes"),
		does("replicaset-controller", "Pods", "TestRecordings"),
		does("replicationcontroller-controller", "Pods", "TestOwnersCountTheirPods"),
		does("statefulset-controller", "Pods with ordinals and claims", "TestRecordings"),
		does("ttl-after-finished-controller", "the deletion of finished Jobs", "TestRecordings"),
		does("horizontal-pod-autoscaler-controller", "replicas follow metrics", "TestAnAutoscalerFollowsAnnotations"),
		does("disruption-controller", "how many Pods may be evicted", "TestEvictions"),
		does("pod-garbage-collector-controller", "Pods of Nodes that are gone, and Pods that have ended", "TestTerminatedPodsAboveTheThreshold"),
	}
}

func objectControllers() []Part {
	return []Part{
		does("endpoints-controller", "the Pods of a Service", "TestEndpointsListThePodsOfAService"),
		does("endpointslice-controller", "the Pods of a Service", "TestEndpointsListThePodsOfAService"),
		does("endpointslice-mirroring-controller", "EndpointSlices for Endpoints of users", "TestEndpointsAreMirrored"),
		does("garbage-collector-controller", "objects without an owner are deleted", "TestDependentsGoWithTheirOwners"),
		does("namespace-controller", "a Namespace is deleted after its last object", "TestANamespaceGoesWithItsLastObject"),
		does("resourcequota-controller", "the use of quotas", "TestRecordings"),
		does("root-ca-certificate-publisher-controller", "the ConfigMap kube-root-ca.crt", "TestBothAreMadeAndRestored"),
		does("serviceaccount-controller", "the ServiceAccount default", "TestBothAreMadeAndRestored"),
		does("clusterrole-aggregation-controller", "the rules of ClusterRoles that select others", "TestAggregation"),
		does("serviceaccount-token-controller", "tokens in Secrets, by the server", "TestTokensInSecrets"),
		reports("legacy-serviceaccount-token-cleaner-controller", "the end of tokens in Secrets", "Secret type"),
		reports("resourceclaim-controller", "dynamic resource allocation", "ResourceClaim", "ResourceClaimTemplate", "Pod spec.resourceClaims"),
		does("service-cidr-controller", "ranges of addresses of Services", "TestServiceCIDRs"),
	}
}

func volumeControllers() []Part {
	return []Part{
		does("persistentvolume-binder-controller", "claims are bound to volumes", "TestClaimsAreBound"),
		does("persistentvolume-protection-controller", "volumes in use are kept", "TestRecordings"),
		does("persistentvolumeclaim-protection-controller", "claims in use are kept", "TestRecordings"),
		reports("persistentvolume-attach-detach-controller", "volumes are attached to Nodes", "CSIDriver", "VolumeAttachment"),
		does("persistentvolume-expander-controller", "claims grow", "TestVolumesGrow"),
		does("ephemeral-volume-controller", "claims for ephemeral volumes", "TestEphemeralVolumes"),
		reports("volumeattributesclass-protection-controller", "classes in use are kept", "VolumeAttributesClass"),
	}
}

func clusterControllers() []Part {
	return []Part{
		does("node-lifecycle-controller", "taints of Nodes", "TestANodeThatNeverReports"),
		does("taint-eviction-controller", "Pods are evicted from tainted Nodes", "TestTolerations"),
		does("service-lb-controller", "addresses of load balancers; part of cloud providers", "TestRecordings"),
		reports("device-taint-eviction-controller", "Pods are evicted from tainted devices", "ResourceSlice"),
		does("certificatesigningrequest-approving-controller", "requests of kubelets are approved, by the server", "TestCertificatesOfKubelets"),
		does("certificatesigningrequest-cleaner-controller", "old requests are deleted", "TestOldRequestsAreDeleted"),
		does("certificatesigningrequest-signing-controller", "certificates are signed, by the server", "TestCertificatesAreSigned"),
		does("validatingadmissionpolicy-status-controller", "the types of expressions are checked, by the server", "TestTypesOfPoliciesAreChecked"),
		{Name: "ttl-controller", State: OnNodes, Feature: "an annotation that says how long kubelets keep Secrets and ConfigMaps"},
	}
}

// controllersThatAreOff need a flag, a cloud provider or a feature gate.
func controllersThatAreOff() []Part {
	return []Part{
		isOff("bootstrap-signer-controller", "has to be named in --controllers"),
		isOff("token-cleaner-controller", "has to be named in --controllers"),
		isOff("selinux-warning-controller", "has to be named in --controllers"),
		isOff("node-ipam-controller", "needs --allocate-node-cidrs"),
		isOff("cloud-node-lifecycle-controller", "part of cloud providers"),
		isOff("node-route-controller", "part of cloud providers"),
		isOff("podcertificaterequest-cleaner-controller", "feature gate PodCertificateRequest"),
		isOff("kube-apiserver-serving-clustertrustbundle-publisher-controller", "feature gate ClusterTrustBundle"),
		isOff("podgroup-protection-controller", "feature gate GenericWorkload"),
		isOff("resourcepoolstatusrequest-controller", "feature gate DRAResourcePoolStatus"),
		isOff("storage-version-migrator-controller", "feature gate StorageVersionMigrator"),
		isOff("storageversion-garbage-collector-controller", "feature gates APIServerIdentity and StorageVersionAPI"),
	}
}

// defaultPlugins are on by default.
func defaultPlugins() []Part {
	return []Part{
		does("DefaultIngressClass", "the class of Ingresses", "TestWhatIsStoredIsComplete"),
		does("DefaultStorageClass", "the class of claims", "TestWhatIsStoredIsComplete"),
		does("DefaultTolerationSeconds", "tolerations of Pods", "TestWhatIsStoredIsComplete"),
		does("LimitRanger", "defaults and bounds of requests and limits", "TestRecordings"),
		does("MutatingAdmissionPolicy", "policies change objects", "TestMutatingPoliciesChangeObjects"),
		does("MutatingAdmissionWebhook", "webhooks change objects", "TestWebhooksOfAManager"),
		does("NamespaceLifecycle", "objects need a Namespace that is not terminating", "TestNamespacesThatCannotBeDeleted"),
		does("Priority", "the priority of Pods", "TestAPodPreemptsByItsPriorityClass"),
		does("ResourceQuota", "quotas", "TestRecordings"),
		does("StorageObjectInUseProtection", "finalizers of claims and volumes", "TestRecordings"),
		does("TaintNodesByCondition", "a taint of new Nodes", "TestWhatIsStoredIsComplete"),
		does("ValidatingAdmissionPolicy", "policies refuse objects", "TestPoliciesDecide"),
		does("ValidatingAdmissionWebhook", "webhooks refuse objects", "TestWebhooksOfAManager"),
		does("ServiceAccount", "the ServiceAccount of Pods, by the option ServiceAccounts of the server", "TestServiceAccountsOfPods"),
		does("CertificateApproval", "who may approve requests, by the option RBAC of the server", "TestSignersOfCertificates"),
		does("CertificateSigning", "who may sign certificates, by the option RBAC of the server", "TestSignersOfCertificates"),
		does("CertificateSubjectRestriction", "no certificates of administrators", "TestSubjectsOfCertificates"),
		does("PersistentVolumeClaimResize", "which claims may grow", "TestClaimsThatGrow"),
		does("PodSecurity", "which Pods a Namespace may have", "TestPodSecurity"),
		does("PodTopologyLabels", "the zone and region of Pods", "TestTopologyOfPods"),
		does("RuntimeClass", "overhead and Nodes of a RuntimeClass", "TestRuntimeClasses"),
		{Name: "PodResizeValidator", State: Refused, Feature: "resizes of Pods; the request is refused"},
		reports("NodeDeclaredFeatureValidator", "updates of Pods need features of their Node", "Node status.declaredFeatures"),
	}
}

// pluginsThatAreOff have to be named in --enable-admission-plugins, or need a feature gate.
func pluginsThatAreOff() []Part {
	all := []Part{
		isOff("ClusterTrustBundleAttest", "feature gate ClusterTrustBundle"),
		isOff("JobValidation", "feature gate WorkloadWithJob"),
		isOff("PodGroupProtection", "feature gate GenericWorkload"),
		isOff("PodGroupWorkloadExists", "feature gate GenericWorkload"),
	}
	for _, name := range []string{
		"AlwaysAdmit", "AlwaysDeny", "AlwaysPullImages", "DenyServiceExternalIPs", "EventRateLimit", "ExtendedResourceToleration", "ImagePolicyWebhook",
		"LimitPodHardAntiAffinityTopology", "NamespaceAutoProvision", "NamespaceExists", "NodeRestriction", "OwnerReferencesPermissionEnforcement",
		"PodNodeSelector", "PodTolerationRestriction",
	} {
		all = append(all, isOff(name, "has to be named in --enable-admission-plugins"))
	}
	return all
}
