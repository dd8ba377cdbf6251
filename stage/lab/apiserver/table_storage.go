package apiserver

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// storage returns the cells of a kind of volumes.
func (c cells) storage(obj any) []any {
	switch o := obj.(type) {
	case *corev1.PersistentVolume:
		claim, phase := "", string(o.Status.Phase)
		if r := o.Spec.ClaimRef; r != nil {
			claim = r.Namespace + "/" + r.Name
		}
		if o.DeletionTimestamp != nil {
			phase = "Terminating"
		}
		size := o.Spec.Capacity[corev1.ResourceStorage]
		return []any{o.Name, size.String(), accessModes(o.Spec.AccessModes), string(o.Spec.PersistentVolumeReclaimPolicy), phase, claim,
			annotated(o.Annotations, o.Spec.StorageClassName), given(o.Spec.VolumeAttributesClassName), o.Status.Reason, c.age(o.CreationTimestamp), given(o.Spec.VolumeMode)}
	case *corev1.PersistentVolumeClaim:
		phase, capacity, modes, class := string(o.Status.Phase), "", "", ""
		if o.DeletionTimestamp != nil {
			phase = "Terminating"
		}
		if o.Spec.VolumeName != "" {
			size := o.Status.Capacity[corev1.ResourceStorage]
			capacity, modes = size.String(), accessModes(o.Status.AccessModes)
		}
		if o.Spec.StorageClassName != nil {
			class = *o.Spec.StorageClassName
		}
		return []any{o.Name, phase, o.Spec.VolumeName, capacity, modes, annotated(o.Annotations, class),
			given(o.Spec.VolumeAttributesClassName), c.age(o.CreationTimestamp), given(o.Spec.VolumeMode)}
	case *storagev1.StorageClass:
		policy, mode := "Delete", "Immediate"
		if o.ReclaimPolicy != nil {
			policy = string(*o.ReclaimPolicy)
		}
		if o.VolumeBindingMode != nil {
			mode = string(*o.VolumeBindingMode)
		}
		return []any{defaultName(o.ObjectMeta, "storageclass.kubernetes.io/is-default-class"), o.Provisioner, policy, mode, o.AllowVolumeExpansion != nil && *o.AllowVolumeExpansion, c.age(o.CreationTimestamp)}
	case *storagev1.CSINode:
		return []any{o.Name, int64(len(o.Spec.Drivers)), c.age(o.CreationTimestamp)}
	case *storagev1.VolumeAttachment:
		volume := ""
		if o.Spec.Source.PersistentVolumeName != nil {
			volume = *o.Spec.Source.PersistentVolumeName
		}
		return []any{o.Name, o.Spec.Attacher, volume, o.Spec.NodeName, o.Status.Attached, c.age(o.CreationTimestamp)}
	case *storagev1.CSIStorageCapacity:
		capacity := unset
		if o.Capacity != nil {
			capacity = o.Capacity.String()
		}
		return []any{o.Name, o.StorageClassName, capacity}
	}
	return nil
}

// annotated is the class in the annotation that there was before the field.
func annotated(annotations map[string]string, class string) string {
	if old, found := annotations["volume.beta.kubernetes.io/storage-class"]; found {
		return old
	}
	return class
}

// given is a text, or that there is none.
func given[S ~string](s *S) string {
	if s == nil {
		return unset
	}
	return string(*s)
}

func accessModes(modes []corev1.PersistentVolumeAccessMode) string {
	var short []string
	for _, m := range []struct {
		mode corev1.PersistentVolumeAccessMode
		text string
	}{{corev1.ReadWriteOnce, "RWO"}, {corev1.ReadOnlyMany, "ROX"}, {corev1.ReadWriteMany, "RWX"}, {corev1.ReadWriteOncePod, "RWOP"}} {
		if slices.Contains(modes, m.mode) {
			short = append(short, m.text)
		}
	}
	return strings.Join(short, ",")
}
