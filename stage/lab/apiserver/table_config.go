package apiserver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// config returns the cells of a kind that others are configured by.
func (c cells) config(obj any) []any {
	switch o := obj.(type) {
	case *corev1.Namespace:
		return []any{o.Name, string(o.Status.Phase), c.age(o.CreationTimestamp)}
	case *corev1.Secret:
		return []any{o.Name, string(o.Type), int64(len(o.Data)), c.age(o.CreationTimestamp)}
	case *corev1.ConfigMap:
		return []any{o.Name, int64(len(o.Data) + len(o.BinaryData)), c.age(o.CreationTimestamp)}
	case *corev1.PodTemplate:
		names, images := namesAndImages(o.Template.Spec)
		return []any{o.Name, names, images, metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: o.Template.Labels})}
	case *corev1.ResourceQuota:
		requests, limits := quotaTexts(o)
		return []any{o.Name, requests, limits, c.age(o.CreationTimestamp)}
	case *coordinationv1.Lease:
		holder := ""
		if o.Spec.HolderIdentity != nil {
			holder = *o.Spec.HolderIdentity
		}
		return []any{o.Name, holder, c.age(o.CreationTimestamp)}
	case *schedulingv1.PriorityClass:
		policy := ""
		if o.PreemptionPolicy != nil {
			policy = string(*o.PreemptionPolicy)
		}
		return []any{o.Name, int64(o.Value), o.GlobalDefault, c.age(o.CreationTimestamp), policy}
	case *rbacv1.RoleBinding:
		return append([]any{o.Name, o.RoleRef.Kind + "/" + o.RoleRef.Name, c.age(o.CreationTimestamp)}, subjectTexts(o.Subjects)...)
	case *rbacv1.ClusterRoleBinding:
		return append([]any{o.Name, o.RoleRef.Kind + "/" + o.RoleRef.Name, c.age(o.CreationTimestamp)}, subjectTexts(o.Subjects)...)
	}
	return nil
}

// subjectTexts lists users, groups and ServiceAccounts.
func subjectTexts(subjects []rbacv1.Subject) []any {
	var users, groups, accounts []string
	for _, s := range subjects {
		switch s.Kind {
		case rbacv1.UserKind:
			users = append(users, s.Name)
		case rbacv1.GroupKind:
			groups = append(groups, s.Name)
		case rbacv1.ServiceAccountKind:
			accounts = append(accounts, s.Namespace+"/"+s.Name)
		}
	}
	return []any{strings.Join(users, ", "), strings.Join(groups, ", "), strings.Join(accounts, ", ")}
}

func quotaTexts(o *corev1.ResourceQuota) (requests, limits string) {
	var names []string
	for name := range o.Status.Hard {
		names = append(names, string(name))
	}
	slices.Sort(names)
	var of [2][]string
	for _, name := range names {
		used, hard, i := o.Status.Used[corev1.ResourceName(name)], o.Status.Hard[corev1.ResourceName(name)], 0
		if strings.HasPrefix(name, "limits.") {
			i = 1
		}
		of[i] = append(of[i], fmt.Sprintf("%s: %s/%s", name, used.String(), hard.String()))
	}
	return strings.Join(of[0], ", "), strings.Join(of[1], ", ")
}

func (c cells) node(o *corev1.Node) []any {
	status := []string{"Unknown"}
	for _, condition := range o.Status.Conditions {
		switch {
		case condition.Type != corev1.NodeReady:
		case condition.Status == corev1.ConditionTrue:
			status[0] = "Ready"
		default:
			status[0] = "NotReady"
		}
	}
	if o.Spec.Unschedulable {
		status = append(status, "SchedulingDisabled")
	}
	info := o.Status.NodeInfo
	kernel := cmp.Or(info.KernelVersion, unknown)
	if info.Architecture != "" {
		kernel += " (" + info.Architecture + ")"
	}
	return []any{o.Name, strings.Join(status, ","), cmp.Or(nodeRoles(o), none), c.age(o.CreationTimestamp), info.KubeletVersion,
		nodeAddress(o, corev1.NodeInternalIP), nodeAddress(o, corev1.NodeExternalIP), cmp.Or(info.OSImage, unknown), kernel, cmp.Or(info.ContainerRuntimeVersion, unknown)}
}

func nodeRoles(o *corev1.Node) string {
	var roles []string
	for name, value := range o.Labels {
		if role, found := strings.CutPrefix(name, "node-role.kubernetes.io/"); found && role != "" {
			roles = append(roles, role)
		}
		if name == "kubernetes.io/role" && value != "" {
			roles = append(roles, value)
		}
	}
	slices.Sort(roles)
	return strings.Join(slices.Compact(roles), ",")
}

func nodeAddress(o *corev1.Node, kind corev1.NodeAddressType) string {
	for _, a := range o.Status.Addresses {
		if a.Type == kind {
			return a.Address
		}
	}
	return none
}

func (c cells) event(o *corev1.Event) []any {
	first := c.age(o.FirstTimestamp)
	if o.FirstTimestamp.IsZero() {
		first = c.age(metav1.Time(o.EventTime))
	}
	last, count := c.age(o.LastTimestamp), max(1, o.Count)
	if o.LastTimestamp.IsZero() {
		last = first
	}
	if o.Series != nil {
		last, count = c.age(metav1.Time(o.Series.LastObservedTime)), o.Series.Count
	}
	target := strings.ToLower(o.InvolvedObject.Kind)
	if o.InvolvedObject.Name != "" {
		target += "/" + o.InvolvedObject.Name
	}
	source := cmp.Or(o.Source.Component, o.ReportingController)
	if instance := cmp.Or(o.Source.Host, o.ReportingInstance); instance != "" {
		source += ", " + instance
	}
	return []any{last, o.Type, o.Reason, target, o.InvolvedObject.FieldPath, source, strings.TrimSpace(o.Message), first, int64(count), o.Name}
}
