package features

import "strings"

func volumeKinds() []Kind {
	return []Kind{
		kind("", "v1", "PersistentVolume", "persistentvolume",
			modelled("a volume is bound to a claim, and reclaimed", "TestClaimsAreBound", "spec.capacity", "spec.accessModes", "spec.claimRef", "spec.persistentVolumeReclaimPolicy",
				"spec.storageClassName", "spec.volumeMode"),
			modelled("Pods run where their volumes are", "TestAClaimIsBoundWhereItsClassAllows", "spec.nodeAffinity"),
			modelled("how many volumes a Node takes", "TestVolumesOfANodeAreCounted", "spec.csi"),
			reported("attributes of a volume change", "spec.volumeAttributesClassName"),
			onNodes("volumes", volumeSources()...),
			status("TestClaimsAreBound")),
		kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaim", claim("spec."), status("TestClaimsAreBound")),
		kind("storage.k8s.io", "v1", "StorageClass", "",
			modelled("claims are bound at once, or with their Pod, where the class allows", "TestAClaimIsBoundWhereItsClassAllows", "provisioner", "reclaimPolicy", "volumeBindingMode", "allowedTopologies"),
			modelled("claims can grow", "TestClaimsThatGrow", "allowVolumeExpansion"),
			onNodes("read by provisioners", "parameters", "mountOptions")),
		kind("storage.k8s.io", "v1", "CSINode", "", modelled("how many volumes a Node takes", "TestVolumesOfANodeAreCounted", "spec.drivers[].name", "spec.drivers[].allocatable"),
			onNodes("read by drivers", "spec.drivers[].nodeID", "spec.drivers[].topologyKeys")),
		kind("storage.k8s.io", "v1", "CSIDriver", "", reported("volumes are attached", ""), modelled("claims are provisioned where there is capacity", "TestClaimsGoWhereThereIsRoom", "spec.storageCapacity"),
			reported("volumes are attached", "spec.attachRequired"), reported("Pods stay away from Nodes without the driver", "spec.preventPodSchedulingIfMissing"),
			onNodes("read by drivers", "spec.podInfoOnMount", "spec.volumeLifecycleModes", "spec.fsGroupPolicy", "spec.tokenRequests", "spec.requiresRepublish", "spec.seLinuxMount",
				"spec.nodeAllocatableUpdatePeriodSeconds", "spec.serviceAccountTokenInSecrets")),
		kind("storage.k8s.io", "v1", "CSIStorageCapacity", "", modelled("claims are provisioned where there is capacity", "TestClaimsGoWhereThereIsRoom", "storageClassName", "nodeTopology", "capacity", "maximumVolumeSize")),
		kind("storage.k8s.io", "v1", "VolumeAttachment", "", reported("volumes are attached", ""),
			modelled("attached volumes count for a Node", "TestVolumesOfANodeAreCounted", "spec.nodeName", "spec.source.persistentVolumeName"),
			onNodes("read by the attacher", "spec.attacher", "spec.source.inlineVolumeSpec")),
		kind("storage.k8s.io", "v1", "VolumeAttributesClass", "", reported("attributes of a volume change", "")),
	}
}

// claim are the rows of a claim's spec.
func claim(at string) []Row {
	return with(at,
		modelled("a claim is bound to the smallest volume that fits", "TestTheSmallestVolumeIsTaken", "accessModes", "selector", "resources.requests", "volumeName", "storageClassName", "volumeMode"),
		also("quotas and limits of a namespace", "TestRecordings", reported("the largest size of a volume", "resources.limits")),
		reported("a volume begins with the content of another object", "dataSource", "dataSourceRef"),
		also("quotas with the scope VolumeAttributesClass", "TestScopesOfClaims", reported("attributes of a volume change", "volumeAttributesClassName")))
}

// volumeSources are where volumes come from. Only Nodes and provisioners read them.
func volumeSources() (paths []string) {
	for name := range strings.FieldsSeq(`hostPath local nfs gcePersistentDisk awsElasticBlockStore rbd iscsi glusterfs flexVolume cinder cephfs flocker fc azureFile azureDisk
		vsphereVolume quobyte photonPersistentDisk portworxVolume scaleIO storageos mountOptions`) {
		paths = append(paths, "spec."+name)
	}
	return paths
}
