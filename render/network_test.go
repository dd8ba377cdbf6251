package render_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/render"
)

func node(name string, spec map[string]any, addresses ...string) map[string]any {
	var list []any
	for i := 0; i < len(addresses); i += 2 {
		list = append(list, map[string]any{"type": addresses[i], "address": addresses[i+1]})
	}
	return map[string]any{
		"kind": "Node", "metadata": map[string]any{"name": name}, "spec": spec,
		"status": map[string]any{"addresses": list},
	}
}

func cidrs(list ...any) map[string]any { return map[string]any{"podCIDRs": list} }

func withIPs(uid string, ips ...string) map[string]any {
	var list []any
	for _, ip := range ips {
		list = append(list, map[string]any{"ip": ip})
	}
	return map[string]any{
		"kind": "Pod", "metadata": map[string]any{"name": uid, "namespace": "ns", "uid": uid},
		"status": map[string]any{"podIPs": list},
	}
}

func TestNetwork(t *testing.T) {
	n := render.NewNetwork(render.NetworkOptions{Node: render.Node{Name: "me", Port: 10247}})
	n.Observe(node("both", cidrs("10.1.0.0/24", "fd00::/64"), "Hostname", "both", "ExternalIP", "1.2.3.4", "InternalIP", "172.16.0.2", "ExternalIP", "2001:db8::1"))
	n.Observe(node("old", map[string]any{"podCIDR": "10.2.0.0/30"}))
	n.Observe(node("odd", cidrs("nonsense")))
	for name, c := range map[string]struct{ text, want string }{
		"the simulator's own node":                         {`{{ NodeName }} {{ NodeIP }} {{ NodePort }}`, `me 10.0.0.1 10247`},
		"a node has one address of each family":            {`{{ NodeIPWith "both" }} {{ NodeIPsWith "both" }}`, `172.16.0.2 [172.16.0.2 2001:db8::1]`},
		"a node without addresses has the simulator's":     {`{{ NodeIPsWith "old" }}`, `[10.0.0.1]`},
		"a node that is not known too":                     {`{{ NodeIPWith "nope" }}`, `10.0.0.1`},
		"host network gives the node's addresses":          {`{{ PodIPsWith "both" true "h" "" "" }}`, `[172.16.0.2 2001:db8::1]`},
		"a pod has an address of each CIDR of its node":    {`{{ PodIPsWith "both" false "a" "" "" }} {{ PodIPWith "both" false "a" "" "" }}`, `[10.1.0.1 fd00::1] 10.1.0.1`},
		"podCIDR counts where there are no podCIDRs":       {`{{ PodIPsWith "old" false "b" "" "" }}`, `[10.2.0.1]`},
		"the default CIDR leaves out the node's address":   {`{{ PodIPWith "nope" false "c" "" "" | ne NodeIP }}`, `true`},
		"what is no CIDR is ignored":                       {`{{ hasPrefix "10.0.0." (PodIPWith "odd" false "d" "" "") }}`, `true`},
		"PodIP is the address of the pod that is rendered": {`{{ eq PodIP PodIP (PodIPWith "node-0" false "u-1" "" "") }}`, `true`},
		"so is that of a pod without UID and name":         {`{{ eq PodIP (PodIPWith "node-0" false "" "" "") }}`, `true`},
		"without a UID the namespace and name are the pod": {`{{ eq (PodIPWith "x" false "" "a" "b") (PodIPWith "x" false "" "a" "b") }} {{ eq (PodIPWith "x" false "" "a" "b") (PodIPWith "x" false "" "a" "c") }}`, `true false`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := compile(t, c.text, render.Options{}).Text(render.Input{Object: pod(), Env: n})
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestNetworkLearnsAndForgets(t *testing.T) {
	n := render.NewNetwork(render.NetworkOptions{CIDRs: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/29")}})
	n.Observe(withIPs("seen", "10.9.0.1"))
	n.Observe(node("n", nil, "InternalIP", "10.9.0.3"))
	require.Equal(t, []string{"10.9.0.1"}, ips(t, n, "seen"), "an observed address stays")
	require.Equal(t, []string{"10.9.0.2"}, ips(t, n, "a"))
	n.Observe(withIPs("a"))
	require.Equal(t, []string{"10.9.0.2"}, ips(t, n, "a"), "a status without addresses changes nothing")
	require.Equal(t, []string{"10.9.0.4"}, ips(t, n, "b"), "the node's address is taken")
	require.Equal(t, []string{"10.9.0.5"}, ips(t, n, "c"))
	require.Equal(t, []string{"10.9.0.6"}, ips(t, n, "d"))

	_, err := n.PodIPs(render.Pod{UID: "e", Namespace: "ns", Name: "e"})
	require.EqualError(t, err, "pod ns/e: no address left in 10.9.0.0/29")
	n.Forget(withIPs("seen"))
	require.Equal(t, []string{"10.9.0.1"}, ips(t, n, "e"), "a forgotten pod's address is given again")
	n.Forget(node("n", nil))
	require.Equal(t, []string{"10.9.0.3"}, ips(t, n, "f"), "and a forgotten node's")
}

func TestNetworkPrefixesWithoutNetworkAddress(t *testing.T) {
	for cidr, want := range map[string][]string{
		"10.0.1.1/32": {"10.0.1.1"}, "10.0.1.0/31": {"10.0.1.0", "10.0.1.1"}, "10.0.1.0/30": {"10.0.1.1", "10.0.1.2"},
		"255.255.255.254/31": {"255.255.255.254", "255.255.255.255"}, "fd00::/126": {"fd00::1", "fd00::2", "fd00::3"},
	} {
		n := render.NewNetwork(render.NetworkOptions{CIDRs: []netip.Prefix{netip.MustParsePrefix(cidr)}})
		var got []string
		for range 2 {
			got = nil
			for i := range want {
				got = append(got, ips(t, n, fmt.Sprint(i))...)
			}
			_, err := n.PodIPs(render.Pod{UID: "more"})
			require.ErrorContains(t, err, "no address left in "+cidr)
			for i := range want {
				n.Forget(withIPs(fmt.Sprint(i)))
			}
		}
		require.ElementsMatch(t, want, got)
	}
}

func ips(t *testing.T, n *render.Network, uid string) []string {
	t.Helper()
	list, err := n.PodIPs(render.Pod{UID: uid})
	require.NoError(t, err)
	return list
}

// TestNetworkProperties plays random pods against a plain model: who has which address.
func TestNetworkProperties(t *testing.T) {
	nodes := map[string]netip.Prefix{
		"small": netip.MustParsePrefix("10.0.0.64/28"), "within": netip.MustParsePrefix("10.0.0.0/25"),
		"six": netip.MustParsePrefix("fd00::/124"), "none": netip.MustParsePrefix("10.0.0.0/24"),
	}
	names := []string{"small", "within", "six", "none"}
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		n := render.NewNetwork(render.NetworkOptions{CIDRs: []netip.Prefix{nodes["none"]}})
		for _, name := range names[:3] {
			n.Observe(node(name, cidrs(nodes[name].String())))
		}
		owner, has := map[string]string{"10.0.0.1": "node"}, map[string]string{}
		for range 2000 {
			name := names[rnd.IntN(4)]
			uid := fmt.Sprint(name, rnd.IntN(100))
			switch rnd.IntN(3) {
			case 0:
				n.Forget(withIPs(uid))
				delete(owner, has[uid])
				delete(has, uid)
			case 1:
				ip := fmt.Sprintf("10.0.0.%d", 2+rnd.IntN(250))
				if owner[ip] != "" && owner[ip] != uid {
					continue
				}
				n.Observe(withIPs(uid, ip))
				delete(owner, has[uid])
				owner[ip], has[uid] = uid, ip
			case 2:
				list, err := n.PodIPs(render.Pod{Node: name, UID: uid})
				if err != nil {
					require.Empty(t, has[uid])
					continue
				}
				if has[uid] != "" {
					require.Equal(t, []string{has[uid]}, list, "stable")
					continue
				}
				require.Empty(t, owner[list[0]], "unique")
				require.True(t, nodes[name].Contains(netip.MustParseAddr(list[0])), "inside")
				require.NotEqual(t, nodes[name].Masked().Addr().String(), list[0], "not the network")
				owner[list[0]], has[uid] = uid, list[0]
			}
		}
	}
}

// TestNetworkGivesAllAddresses fails if churn loses one.
func TestNetworkGivesAllAddresses(t *testing.T) {
	n := render.NewNetwork(render.NetworkOptions{CIDRs: []netip.Prefix{netip.MustParsePrefix("10.5.0.0/24")}})
	for round := range 5 {
		for i := range 254 {
			uid := fmt.Sprint(round, "-", i)
			if i%3 == 0 {
				n.Observe(withIPs(uid, ips(t, n, uid)...))
			}
			ips(t, n, uid)
		}
		_, err := n.PodIPs(render.Pod{UID: "more"})
		require.Error(t, err)
		for i := range 254 {
			n.Forget(withIPs(fmt.Sprint(round, "-", i)))
		}
	}
}

func BenchmarkNetwork(b *testing.B) {
	n := render.NewNetwork(render.NetworkOptions{})
	for i := range 100_000 {
		_, _ = n.PodIPs(render.Pod{UID: fmt.Sprint(i)})
	}
	b.ReportAllocs()
	obj := withIPs("x")
	for b.Loop() {
		_, _ = n.PodIPs(render.Pod{UID: "x"})
		n.Forget(obj)
	}
}

// TestTemplatesDoNotChangeTheLists of an Env: sortAlpha sorts in place.
func TestTemplatesDoNotChangeTheLists(t *testing.T) {
	n := render.NewNetwork(render.NetworkOptions{})
	n.Observe(node("n", cidrs("fd00::/64", "10.1.0.0/24"), "InternalIP", "fd01::1", "InternalIP", "10.0.0.9"))
	text := `{{ NodeIPsWith "n" | sortAlpha }}{{ NodeIPsWith "n" }} {{ PodIPsWith "n" false "a" "" "" | sortAlpha }}{{ PodIPsWith "n" false "a" "" "" }}`
	got, err := compile(t, text, render.Options{}).Text(render.Input{Env: n})
	require.NoError(t, err)
	require.Equal(t, "[10.0.0.9 fd01::1][fd01::1 10.0.0.9] [10.1.0.1 fd00::1][fd00::1 10.1.0.1]", got)
}

// TestAnObservedAddressIsNotGivenAgain: a pod that was given an address, and was not written with it, gets
// another one if a different pod is observed with the address. Another simulator may have given it.
func TestAnObservedAddressIsNotGivenAgain(t *testing.T) {
	n := render.NewNetwork(render.NetworkOptions{})
	a, b := render.Pod{UID: "a"}, render.Pod{UID: "b"}
	given, err := n.PodIPs(a)
	require.NoError(t, err)
	n.Observe(withIPs("b", given...))
	other, err := n.PodIPs(a)
	require.NoError(t, err)
	require.NotEqual(t, given, other)
	n.Observe(withIPs("a", other...))
	n.Observe(withIPs("c", other...)) // both were written: each keeps its address
	for pod, want := range map[render.Pod][]string{a: other, b: given} {
		got, err := n.PodIPs(pod)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}
