// Package kubelet plays random Pods twice, in virtual time. The first play uses the container
// runtime manager of the kubelet of Kubernetes (pkg/kubelet/kuberuntime), in a testing/synctest
// bubble and on a runtime that fakes containers. The second play uses our kubelet. It compares when
// containers start and end, with which codes, when images are pulled, and the texts of Events. The
// kubelet also computes the phase and conditions for the container statuses that our kubelet
// writes. More Pods:
//
//	make oracle-kubelet SCENARIOS=10000
//
// The test does not run the kubelet's loop around the manager. It calls the manager each second
// until nothing changes. It does not compare probes.
package kubelet

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	_ "k8s.io/kubernetes/pkg/kubelet" // has getPhase
	_ "unsafe"                        // for linkname
)

//go:linkname getPhase k8s.io/kubernetes/pkg/kubelet.getPhase
func getPhase(logger klog.Logger, pod *corev1.Pod, info []corev1.ContainerStatus, podIsTerminal, podHasInitialized bool) corev1.PodPhase
