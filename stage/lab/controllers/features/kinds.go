package features

import "strings"

// storedKinds are the kinds that hold data.
func storedKinds() (all []Kind) {
	for name := range strings.FieldsSeq(`/ConfigMap /Event events.k8s.io/Event /ServiceAccount apps/ControllerRevision coordination.k8s.io/Lease
		discovery.k8s.io/EndpointSlice`) {
		group, name, _ := strings.Cut(name, "/")
		all = append(all, kind(group, "v1", name, "", []Row{{State: Stored, Feature: "data for users, controllers and programs on Nodes"}}))
	}
	return append(all,
		kind("", "v1", "PodTemplate", "", modelled("its Pods are checked by PodSecurity, for a warning", "TestPodSecurity", "template")),
		kind("", "v1", "Endpoints", "", modelled("the Endpoints of a Service without a selector are mirrored", "TestEndpointsAreMirrored", "subsets")),
		kind("", "v1", "Secret", "", []Row{
			{Path: "type", State: Reported, Feature: "a token is written into the Secret, which goes with its ServiceAccount", Only: []string{"kubernetes.io/service-account-token"},
				Hooks: "certificates", Also: server, Test: "TestTokensInSecrets"},
			{Path: "data", State: Stored, Feature: "data for users and programs"}, {Path: "stringData", State: Stored, Feature: "data for users and programs"},
			{Path: "immutable", State: Modelled, Feature: "changes are refused", Test: "TestUpdatesAreRefused"},
		}))
}

// reviewKinds are the kinds that a server answers and does not store.
func reviewKinds() []Kind {
	const access, users = "the rights of users; without the option RBAC of the server every user may do everything", "the user of a request"
	return []Kind{
		kind("", "v1", "Binding", "", modelled("a Pod is bound to a Node", "TestPodsAreBoundAndEvicted", "")),
		kind("policy", "v1", "Eviction", "", modelled("a Pod is evicted if its budgets allow it", "TestPodsAreBoundAndEvicted", "")),
		kind("autoscaling", "v1", "Scale", "", modelled("the replicas of a workload", "TestWorkloadsAreScaled", "")),
		kind("", "v1", "ComponentStatus", "", []Row{{State: Refused, Feature: "the health of schedulers and controllers"}}),
		kind("authentication.k8s.io", "v1", "TokenRequest", "", modelled("tokens of ServiceAccounts", "TestTokensOfServiceAccounts", "")),
		kind("authentication.k8s.io", "v1", "TokenReview", "", modelled("tokens of ServiceAccounts", "TestTokensOfServiceAccounts", "")),
		kind("authentication.k8s.io", "v1", "SelfSubjectReview", "", modelled(users, "TestImpersonation", "")),
		kind("authorization.k8s.io", "v1", "LocalSubjectAccessReview", "", modelled(access, "TestReviewsOfAccess", "")),
		kind("authorization.k8s.io", "v1", "SelfSubjectAccessReview", "", modelled(access, "TestReviewsOfAccess", "")),
		kind("authorization.k8s.io", "v1", "SelfSubjectRulesReview", "", modelled(access, "TestReviewsOfAccess", "")),
		kind("authorization.k8s.io", "v1", "SubjectAccessReview", "", modelled(access, "TestReviewsOfAccess", "")),
	}
}

// offKinds are the kinds that Kubernetes 1.36 does not serve by default.
func offKinds() []Kind {
	off := func(group, version, name, feature string) Kind {
		return kind(group, version, name, "", []Row{{State: Off, Feature: feature}})
	}
	return []Kind{
		off("certificates.k8s.io", "v1beta1", "ClusterTrustBundle", "certificates of authorities for Pods"),
		off("certificates.k8s.io", "v1beta1", "PodCertificateRequest", "certificates of Pods"),
		off("coordination.k8s.io", "v1beta1", "LeaseCandidate", "which of several programs leads"),
		off("internal.apiserver.k8s.io", "v1alpha1", "StorageVersion", "the versions in which several API servers store objects"),
		off("resource.k8s.io", "v1beta2", "DeviceTaintRule", "dynamic resource allocation"),
		off("resource.k8s.io", "v1alpha3", "ResourcePoolStatusRequest", "dynamic resource allocation"),
		off("scheduling.k8s.io", "v1alpha2", "PodGroup", "Pods that are scheduled together"),
		off("scheduling.k8s.io", "v1alpha2", "Workload", "Pods that are scheduled together"),
		off("storagemigration.k8s.io", "v1beta1", "StorageVersionMigration", "stored objects are written again in another version"),
	}
}
