// Package podaccounts is the admission plugin ServiceAccount of kube-apiserver: a new Pod gets a
// ServiceAccount, which has to exist, the secrets of it that images are pulled with, and the volume
// kube-api-access with its token. The plugin itself is part of k8s.io/kubernetes, which a published
// module cannot require.
//
// The name of the volume depends on that of the Pod, so that it is the same in each run.
package podaccounts

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// Hooks are the hooks of a cluster that do that.
func Hooks() memory.Hooks { return memory.Hooks{Name: "serviceaccounts", Admit: fill} }

var (
	pods     = schema.GroupResource{Resource: "pods"}
	accounts = schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}
)

// fill gives a new Pod its ServiceAccount.
func fill(v *memory.Review) error {
	if v.Resource != pods || v.Old != nil || v.Subresource != "" {
		return nil
	}
	pod := &corev1.Pod{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(v.New.Object, pod); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if err := admit(v, pod); err != nil {
		return apierrors.NewForbidden(pods, v.Name.Name, err)
	}
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&pod.Spec)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	v.New.Object["spec"] = spec
	return nil
}

func admit(v *memory.Review, pod *corev1.Pod) error {
	spec := &pod.Spec
	if spec.ServiceAccountName == "" {
		spec.ServiceAccountName = spec.DeprecatedServiceAccount
	}
	if _, isMirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; isMirror {
		if spec.ServiceAccountName != "" {
			return fmt.Errorf("a mirror pod may not reference service accounts")
		}
		return nil
	}
	if spec.ServiceAccountName == "" {
		spec.ServiceAccountName = "default"
	}
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	account, err := accountOf(v, spec.ServiceAccountName)
	if err != nil {
		return err
	}
	if mounts(account, spec) {
		mountToken(v.Name, spec)
	}
	if len(spec.ImagePullSecrets) == 0 {
		spec.ImagePullSecrets = account.ImagePullSecrets
	}
	return nil
}

// accountOf returns a ServiceAccount.
func accountOf(v *memory.Review, name string) (*corev1.ServiceAccount, error) {
	namespace, account := v.Name.Namespace, &corev1.ServiceAccount{}
	stored := v.Get(accounts, types.NamespacedName{Namespace: namespace, Name: name})
	if stored == nil {
		missing := apierrors.NewNotFound(schema.GroupResource{Resource: "serviceaccount"}, name)
		return nil, fmt.Errorf("error looking up service account %s/%s: %w", namespace, name, missing)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, account); err != nil {
		return nil, err
	}
	if enforced := account.Annotations[enforceMountable]; enforced == "true" {
		return nil, fmt.Errorf("the annotation %s of service account %s is not modelled by an in-memory cluster", enforceMountable, name)
	}
	return account, nil
}

const enforceMountable = "kubernetes.io/enforce-mountable-secrets"

// mounts reports whether the containers of a Pod get the token of its ServiceAccount.
func mounts(account *corev1.ServiceAccount, spec *corev1.PodSpec) bool {
	if spec.AutomountServiceAccountToken != nil {
		return *spec.AutomountServiceAccountToken
	}
	return account.AutomountServiceAccountToken == nil || *account.AutomountServiceAccountToken
}

const (
	volumePrefix = "kube-api-access-"
	mountPath    = "/var/run/secrets/kubernetes.io/serviceaccount"
)

// mountToken mounts the volume with the token in the containers that have nothing at its path.
func mountToken(pod types.NamespacedName, spec *corev1.PodSpec) {
	name := volumeName(pod)
	at := slices.IndexFunc(spec.Volumes, func(v corev1.Volume) bool { return strings.HasPrefix(v.Name, volumePrefix) })
	if at >= 0 {
		name = spec.Volumes[at].Name
	}
	isUsed := false
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			c := &containers[i]
			if slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == mountPath }) {
				continue
			}
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, ReadOnly: true, MountPath: mountPath})
			isUsed = true
		}
	}
	if at < 0 && isUsed {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: tokenVolume()}})
	}
}

// volumeName returns a name that looks random.
func volumeName(pod types.NamespacedName) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(pod.String()))
	return volumePrefix + rand.SafeEncodeString(fmt.Sprintf("%05d", h.Sum64()%100000))
}

func tokenVolume() *corev1.ProjectedVolumeSource {
	seconds, mode := int64(60*60+7), corev1.ProjectedVolumeSourceDefaultMode
	return &corev1.ProjectedVolumeSource{DefaultMode: &mode, Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &seconds}},
		{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}}}},
	}}
}
