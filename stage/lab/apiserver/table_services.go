package apiserver

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// service returns the cells of a kind of networking.
func (c cells) service(obj any) []any {
	switch o := obj.(type) {
	case *corev1.Service:
		address := none
		if len(o.Spec.ClusterIPs) > 0 {
			address = o.Spec.ClusterIPs[0]
		}
		return []any{o.Name, string(o.Spec.Type), address, externalAddresses(o), cmp.Or(servicePorts(o), none), c.age(o.CreationTimestamp), labels.FormatLabels(o.Spec.Selector)}
	case *corev1.Endpoints: //nolint:staticcheck // clients still read them
		return []any{o.Name, endpointsText(o.Subsets), c.age(o.CreationTimestamp)}
	case *discoveryv1.EndpointSlice:
		ports, addresses := sliceTexts(o)
		return []any{o.Name, string(o.AddressType), ports, addresses, c.age(o.CreationTimestamp)}
	case *networkingv1.Ingress:
		class, ports := none, "80"
		if o.Spec.IngressClassName != nil {
			class = *o.Spec.IngressClassName
		}
		if len(o.Spec.TLS) > 0 {
			ports = "80, 443"
		}
		return []any{o.Name, class, hostsText(o.Spec.Rules), ingressAddresses(o), ports, c.age(o.CreationTimestamp)}
	case *networkingv1.IngressClass:
		parameters := none
		if p := o.Spec.Parameters; p != nil {
			parameters = p.Kind + "/" + p.Name
			if p.APIGroup != nil {
				parameters = p.Kind + "." + *p.APIGroup + "/" + p.Name
			}
		}
		return []any{defaultName(o.ObjectMeta, "ingressclass.kubernetes.io/is-default-class"), o.Spec.Controller, parameters, c.age(o.CreationTimestamp)}
	case *networkingv1.NetworkPolicy:
		return []any{o.Name, metav1.FormatLabelSelector(&o.Spec.PodSelector), c.age(o.CreationTimestamp)}
	}
	return nil
}

func servicePorts(o *corev1.Service) string {
	var texts []string
	for _, p := range o.Spec.Ports {
		port := fmt.Sprint(p.Port)
		if p.NodePort > 0 {
			port = fmt.Sprintf("%d:%d", p.Port, p.NodePort)
		}
		texts = append(texts, fmt.Sprintf("%s/%s", port, p.Protocol))
	}
	return strings.Join(texts, ",")
}

func externalAddresses(o *corev1.Service) string {
	switch o.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
		return cmp.Or(strings.Join(o.Spec.ExternalIPs, ","), none)
	case corev1.ServiceTypeLoadBalancer:
		var addresses []string
		for _, i := range o.Status.LoadBalancer.Ingress {
			addresses = append(addresses, cmp.Or(i.IP, i.Hostname))
		}
		slices.Sort(addresses)
		return cmp.Or(strings.Join(append(slices.Compact(addresses), o.Spec.ExternalIPs...), ","), "<pending>")
	case corev1.ServiceTypeExternalName:
		return o.Spec.ExternalName
	}
	return unknown
}

func ingressAddresses(o *networkingv1.Ingress) string {
	var addresses []string
	for _, i := range o.Status.LoadBalancer.Ingress {
		addresses = append(addresses, cmp.Or(i.IP, i.Hostname))
	}
	slices.Sort(addresses)
	return strings.Join(slices.Compact(addresses), ",")
}

func hostsText(rules []networkingv1.IngressRule) string {
	var hosts []string
	for i, r := range rules {
		if len(hosts) == 3 {
			return fmt.Sprintf("%s + %d more...", strings.Join(hosts, ","), len(rules)-3)
		}
		if rules[i].Host != "" {
			hosts = append(hosts, r.Host)
		}
	}
	return cmp.Or(strings.Join(hosts, ","), "*")
}

// shortened joins the first texts of a list, and says how many more there are.
func shortened(list []string, most int, separator string) string {
	if len(list) <= most {
		return strings.Join(list, separator)
	}
	return fmt.Sprintf("%s + %d more...", strings.Join(list[:most], separator), len(list)-most)
}

func endpointsText(subsets []corev1.EndpointSubset) string { //nolint:staticcheck // clients still read them
	if len(subsets) == 0 {
		return none
	}
	var list []string
	for _, s := range subsets {
		for _, a := range s.Addresses {
			if len(s.Ports) == 0 {
				list = append(list, a.IP)
			}
		}
		for _, p := range s.Ports {
			for _, a := range s.Addresses {
				list = append(list, net.JoinHostPort(a.IP, fmt.Sprint(p.Port)))
			}
		}
	}
	return shortened(list, 3, ",")
}

func sliceTexts(o *discoveryv1.EndpointSlice) (ports, addresses string) {
	var numbers, all []string
	for _, p := range o.Ports {
		switch {
		case p.Port != nil:
			numbers = append(numbers, fmt.Sprint(*p.Port))
		case p.Name != nil:
			numbers = append(numbers, *p.Name)
		default:
			numbers = append(numbers, "*")
		}
	}
	for _, e := range o.Endpoints {
		all = append(all, e.Addresses...)
	}
	return cmp.Or(shortened(numbers, 3, ","), unset), cmp.Or(shortened(all, 3, ","), unset)
}
