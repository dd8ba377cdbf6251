package apiserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// TestAddressesOfServices checks that each address of a Service has an IPAddress, which goes with it, and
// that addresses are those of ServiceCIDRs that are ready.
func TestAddressesOfServices(t *testing.T) {
	c := kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{RequireNamespaces: true}), apiserver.Options{Bare: true}))
	addresses, ranges, services := c.NetworkingV1().IPAddresses(), c.NetworkingV1().ServiceCIDRs(), c.CoreV1().Services("default")
	names := func() (found []string) {
		all, err := addresses.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		for _, a := range all.Items {
			found = append(found, a.Name)
		}
		return found
	}
	create := func(name, ip string) error {
		_, err := services.Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{ClusterIP: ip, Ports: []corev1.ServicePort{{Port: 80}}}}, metav1.CreateOptions{})
		return err
	}
	born, err := ranges.Get(t.Context(), "kubernetes", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"10.96.0.0/12"}, born.Spec.CIDRs)
	require.Equal(t, "Kubernetes default Service CIDR is ready", born.Status.Conditions[0].Message)
	require.Equal(t, []string{"10.96.0.1"}, names())
	made, err := addresses.Get(t.Context(), "10.96.0.1", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, &networkingv1.ParentReference{Resource: "services", Namespace: "default", Name: "kubernetes"}, made.Spec.ParentRef)
	require.Equal(t, map[string]string{"ipaddress.kubernetes.io/ip-family": "IPv4", "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"}, made.Labels)

	require.NoError(t, create("a", "10.96.0.7"))
	require.NoError(t, create("headless", "None"))
	require.Equal(t, []string{"10.96.0.1", "10.96.0.7"}, names())
	reserved := &networkingv1.IPAddress{ObjectMeta: metav1.ObjectMeta{Name: "10.96.0.8"}, Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "others", Name: "x"}}}
	_, err = addresses.Create(t.Context(), reserved, metav1.CreateOptions{})
	require.NoError(t, err)
	const invalid = `Service "b" is invalid: spec.clusterIPs: Invalid value: `
	require.EqualError(t, create("b", "10.96.0.7"), invalid+`["10.96.0.7"]: failed to allocate IP 10.96.0.7: provided IP is already allocated`)
	require.EqualError(t, create("b", "10.96.0.8"), invalid+`["10.96.0.8"]: failed to allocate IP 10.96.0.8: provided IP is already allocated`)
	require.EqualError(t, create("b", "203.0.113.10"), invalid+`["203.0.113.10"]: failed to allocate IP 203.0.113.10: the provided network does not match the current range`)

	_, err = ranges.Create(t.Context(), &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "more"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"203.0.113.0/24"}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Error(t, create("b", "203.0.113.10"), "nobody has said that it is ready")
	_, err = ranges.Patch(t.Context(), "more", types.MergePatchType, []byte(`{"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}`), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	require.NoError(t, create("b", "203.0.113.10"))
	require.Error(t, create("c", "203.0.113.255"), "an address for broadcasts")

	require.NoError(t, addresses.Delete(t.Context(), "10.96.0.7", metav1.DeleteOptions{}))
	require.Contains(t, names(), "10.96.0.7", "it comes back")
	require.NoError(t, services.Delete(t.Context(), "a", metav1.DeleteOptions{}))
	require.Equal(t, []string{"10.96.0.1", "10.96.0.8", "203.0.113.10"}, names())
	_, err = services.Patch(t.Context(), "b", types.MergePatchType, []byte(`{"spec": {"type": "ExternalName", "externalName": "x.io", "clusterIP": null, "clusterIPs": null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"10.96.0.1", "10.96.0.8"}, names())
	require.NoError(t, ranges.Delete(t.Context(), "kubernetes", metav1.DeleteOptions{}))
	_, err = ranges.Get(t.Context(), "kubernetes", metav1.GetOptions{})
	require.NoError(t, err, "it comes back")
}

// TestAddressesFromBefore checks that a Service that was there before the server gets its IPAddress.
func TestAddressesFromBefore(t *testing.T) {
	cluster := memory.New(memory.Options{})
	require.NoError(t, cluster.Load(t.Context(), []byte(`
{apiVersion: v1, kind: Service, metadata: {name: a, namespace: default}, spec: {clusterIP: 10.96.1.2, clusterIPs: [10.96.1.2], ports: [{port: 80}]}}
`)))
	c := kubernetes.NewForConfigOrDie(apiserver.Start(t, cluster, apiserver.Options{}))
	made, err := c.NetworkingV1().IPAddresses().Get(t.Context(), "10.96.1.2", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "a", made.Spec.ParentRef.Name)
}
