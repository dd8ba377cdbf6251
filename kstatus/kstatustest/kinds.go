package kstatustest

import "k8s.io/apimachinery/pkg/runtime/schema"

// kindMakers are the states that objects of a kind can have, each with its makers. The first maker
// that reaches the state is used.
type kindMakers map[State][]maker

func one(m maker) []maker { return []maker{m} }

// makersFor returns the makers for a kind. Every kind that is not built in is a custom kind.
func makersFor(kind schema.GroupKind) kindMakers {
	if r, known := builtinMakers()[kind]; known {
		return r
	}
	if r, known := knownMakers(kind); known {
		return r
	}
	return kindMakers{Current: customCurrent(), Failed: one(customFailed), Pending: one(customPending)}
}

// builtinMakers returns the makers for the built-in kinds.
func builtinMakers() map[schema.GroupKind]kindMakers {
	return map[schema.GroupKind]kindMakers{
		{Group: "apps", Kind: "Deployment"}:  {Current: one(deployed), Failed: one(deadlineExceeded)},
		{Group: "apps", Kind: "ReplicaSet"}:  {Current: one(replicated), Pending: one(replicaFailure)},
		{Kind: "ReplicationController"}:      {Current: one(replicated), Pending: one(replicaFailure)},
		{Group: "apps", Kind: "StatefulSet"}: {Current: one(statefulSet)},
		{Group: "apps", Kind: "DaemonSet"}:   {Current: one(daemonSet)},

		{Group: "batch", Kind: "Job"}:     {Current: one(jobDone), Failed: one(jobFailed)},
		{Group: "batch", Kind: "CronJob"}: {Current: one(cronSucceeded), Failed: one(cronFailed)},

		{Kind: "Pod"}: {
			Current: {podReady, podSucceeded}, Succeeded: one(podSucceeded), Failed: one(podFailed), Pending: one(podPending),
			CrashLoopBackOff: one(podCrashLooping), ImagePullBackOff: one(podImagePullBackOff), OOMKilled: one(podOutOfMemory),
			Evicted: one(podEvicted), Unschedulable: one(podUnschedulable),
		},

		{Kind: "PersistentVolumeClaim"}: {Current: one(claimBound), Failed: one(phase("Lost")), Pending: one(phase("Pending"))},
		{Kind: "PersistentVolume"}:      {Current: one(volumeReady), Failed: one(volumeFailed)},
		{Kind: "Service"}:               {Current: one(serviceReady), Pending: one(serviceWithoutAddress)},
		{Kind: "Namespace"}:             {Current: one(phase("Active"))},
		{Kind: "Node"}:                  {Current: one(nodeReady), NotReady: one(nodeLost)},
		{Kind: "ResourceQuota"}:         {Current: one(quotaInForce)},

		{Group: "networking.k8s.io", Kind: "Ingress"}:                     {Current: one(addressed)},
		{Group: "policy", Kind: "PodDisruptionBudget"}:                    {Current: one(budgetMet), Failed: one(budgetFailed)},
		{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:           {Current: one(autoscaling), Failed: one(autoscalingFailed)},
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: {Current: one(established), Failed: one(namesTaken)},
		{Group: "apiregistration.k8s.io", Kind: "APIService"}:             {Current: one(apiAvailable), Failed: one(apiUnavailable)},
	}
}

// phase makes a status that has only a phase.
func phase(name string) maker { return func(d *draft) { d.status["phase"] = name } }
