package apiserver

import (
	"cmp"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	nodev1 "k8s.io/api/node/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// rest returns the cells of the remaining kinds.
func (c cells) rest(obj any) []any {
	switch o := obj.(type) {
	case *eventsv1.Event:
		return c.event(coreEvent(o))
	case *corev1.ServiceAccount:
		return []any{o.Name, c.age(o.CreationTimestamp)}
	case *resourcev1.DeviceClass:
		return []any{o.Name, c.age(o.CreationTimestamp)}
	case *resourcev1.ResourceClaimTemplate:
		return []any{o.Name, c.age(o.CreationTimestamp)}
	case *nodev1.RuntimeClass:
		return []any{o.Name, o.Handler, c.age(o.CreationTimestamp)}
	case *storagev1.VolumeAttributesClass:
		return []any{o.Name, o.DriverName, c.age(o.CreationTimestamp)}
	case *storagev1.CSIDriver:
		return c.driver(o)
	case *admissionv1.MutatingWebhookConfiguration:
		return []any{o.Name, int64(len(o.Webhooks)), c.age(o.CreationTimestamp)}
	case *admissionv1.ValidatingWebhookConfiguration:
		return []any{o.Name, int64(len(o.Webhooks)), c.age(o.CreationTimestamp)}
	case *admissionv1.ValidatingAdmissionPolicy:
		kind := unset
		if p := o.Spec.ParamKind; p != nil {
			kind = p.APIVersion + "/" + p.Kind
		}
		return []any{o.Name, int64(len(o.Spec.Validations)), kind, c.age(o.CreationTimestamp)}
	case *admissionv1.ValidatingAdmissionPolicyBinding:
		return []any{o.Name, o.Spec.PolicyName, parameterName(o.Spec.ParamRef), c.age(o.CreationTimestamp)}
	}
	return nil
}

func parameterName(p *admissionv1.ParamRef) string {
	switch {
	case p == nil, p.Name == "" && p.Selector == nil:
		return unset
	case p.Name != "":
		return cmp.Or(p.Namespace, "*") + "/" + p.Name
	}
	return p.Selector.String()
}

// coreEvent is an Event of events.k8s.io as one of the core group, which it is in storage.
func coreEvent(o *eventsv1.Event) *corev1.Event {
	e := &corev1.Event{ObjectMeta: o.ObjectMeta, Type: o.Type, Reason: o.Reason, Message: o.Note, InvolvedObject: o.Regarding, Source: o.DeprecatedSource,
		FirstTimestamp: o.DeprecatedFirstTimestamp, LastTimestamp: o.DeprecatedLastTimestamp, Count: o.DeprecatedCount, EventTime: o.EventTime,
		ReportingController: o.ReportingController, ReportingInstance: o.ReportingInstance}
	if o.Series != nil {
		e.Series = &corev1.EventSeries{Count: o.Series.Count, LastObservedTime: o.Series.LastObservedTime}
	}
	return e
}

func (c cells) driver(o *storagev1.CSIDriver) []any {
	var modes, audiences []string
	for _, m := range o.Spec.VolumeLifecycleModes {
		modes = append(modes, string(m))
	}
	for _, t := range o.Spec.TokenRequests {
		audiences = append(audiences, t.Audience)
	}
	tokens := unset
	if o.Spec.TokenRequests != nil {
		tokens = strings.Join(audiences, ",")
	}
	is := func(b *bool) bool { return b != nil && *b }
	return []any{o.Name, o.Spec.AttachRequired == nil || *o.Spec.AttachRequired, is(o.Spec.PodInfoOnMount), is(o.Spec.StorageCapacity), tokens,
		is(o.Spec.RequiresRepublish), cmp.Or(strings.Join(modes, ","), none), c.age(o.CreationTimestamp)}
}
