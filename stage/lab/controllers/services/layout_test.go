package services_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

const manyService = `{apiVersion: v1, kind: Service, metadata: {name: many}, spec: {selector: {app: many}, ports: [{port: 80, targetPort: web}]}}`

// manyPod returns a Pod of the Service many, whose port web has a number.
func manyPod(name string, port int) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {app: many}}
spec: {containers: [{name: c, image: i, ports: [{name: web, containerPort: %d}]}]}
---
`, name, port)
}

// slicesOfMany returns the names of the Pods in each EndpointSlice, by name of the slice.
func slicesOfMany(t *testing.T, c *clustertest.Cluster) map[string][]string {
	found := map[string][]string{}
	for _, s := range c.List("EndpointSlice", "kubernetes.io/service-name=many") {
		found[s.GetName()] = nil
		list, _, err := unstructured.NestedSlice(s.Object, "endpoints")
		require.NoError(t, err)
		for _, e := range list {
			name, _, _ := unstructured.NestedString(e.(map[string]any), "targetRef", "name")
			found[s.GetName()] = append(found[s.GetName()], name)
		}
	}
	return found
}

func versionsOfMany(c *clustertest.Cluster) map[string]string {
	versions := map[string]string{}
	for _, s := range c.List("EndpointSlice", "kubernetes.io/service-name=many") {
		versions[s.GetName()] = s.GetResourceVersion()
	}
	return versions
}

// TestFewSlicesChange checks that a Pod that comes or goes changes one slice, and that the others stay as
// they are.
func TestFewSlicesChange(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 5})
	c.Load(manyService)
	text := ""
	for i := range 250 {
		text += manyPod(fmt.Sprintf("p%03d", i), 8080)
	}
	c.Load(text)
	c.Settle()
	require.ElementsMatch(t, []int{100, 100, 50}, lengths(slicesOfMany(t, c)))

	before := versionsOfMany(c)
	c.Load(manyPod("a", 8080)) // the first by name
	c.Settle()
	require.ElementsMatch(t, []int{100, 100, 51}, lengths(slicesOfMany(t, c)))
	require.Equal(t, 1, differences(before, versionsOfMany(c)))

	before = versionsOfMany(c)
	c.Delete("Pod", "p000")
	c.Settle()
	require.ElementsMatch(t, []int{99, 100, 51}, lengths(slicesOfMany(t, c)))
	require.Equal(t, 1, differences(before, versionsOfMany(c)))

	before = versionsOfMany(c)
	c.Load(manyPod("other", 9090)) // it needs another slice
	c.Settle()
	require.ElementsMatch(t, []int{99, 100, 51, 1}, lengths(slicesOfMany(t, c)))
	require.Equal(t, 1, differences(before, versionsOfMany(c)))

	before = versionsOfMany(c)
	c.Load(manyPod("b", 8080)) // the fullest slice that has room
	c.Settle()
	require.ElementsMatch(t, []int{100, 100, 51, 1}, lengths(slicesOfMany(t, c)))
	require.Equal(t, 1, differences(before, versionsOfMany(c)))
}

func lengths(slices map[string][]string) (n []int) {
	for _, pods := range slices {
		n = append(n, len(pods))
	}
	return n
}

// differences counts the entries that one map has and the other has not.
func differences(before, after map[string]string) (n int) {
	for name, version := range after {
		if before[name] != version {
			n++
		}
	}
	return n
}

// TestSlicesFollowThePods lets Pods come, change and go at random, also while somebody deletes or changes
// slices, and compares slices and Endpoints with the Pods. In every second run requests take time.
func TestSlicesFollowThePods(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		o := clustertest.Options{Nodes: 5, Seed: seed}
		if seed%2 == 1 {
			o.Timing = simulation.ClusterLike()
		}
		c := clustertest.New(t, o)
		c.Load(manyService)
		ports := map[string]int{}
		for i := range 25 {
			for range 1 + r.IntN(20) {
				churn(c, r, ports)
			}
			if c.Advance(time.Duration(r.IntN(100)) * time.Millisecond); i%5 == 4 {
				disturb(c, r)
			}
			if i%3 == 0 {
				c.Advance(2 * time.Minute)
				requireListed(t, c, ports)
			}
		}
		if o.Timing == nil { // a controller that sees changes late has conflicts
			require.Empty(t, c.Errors)
		}
	}
}

// churn creates a Pod, deletes one, or takes its label away. ports are those of the Pods that stay.
func churn(c *clustertest.Cluster, r *rand.Rand, ports map[string]int) {
	name := fmt.Sprint("p", r.IntN(150))
	switch _, exists := ports[name]; {
	case !exists:
		ports[name] = 8080 + r.IntN(2)
		c.Load(manyPod(name, ports[name]))
	case r.IntN(3) == 0:
		c.DeleteNow("Pod", name)
		delete(ports, name)
	case r.IntN(3) == 0:
		c.Patch("Pod", name, `{metadata: {labels: {note: "`+fmt.Sprint(r.IntN(9))+`"}}}`)
	}
}

// disturb deletes or empties a slice, as no other client should.
func disturb(c *clustertest.Cluster, r *rand.Rand) {
	names := c.Names("EndpointSlice", "kubernetes.io/service-name=many")
	if len(names) == 0 {
		return
	}
	name := names[r.IntN(len(names))]
	if r.IntN(2) == 0 {
		c.Delete("EndpointSlice", name)
		return
	}
	c.Patch("EndpointSlice", name, `{endpoints: null}`)
}

func requireListed(t *testing.T, c *clustertest.Cluster, ports map[string]int) {
	t.Helper()
	var listed []string
	for _, s := range c.List("EndpointSlice", "kubernetes.io/service-name=many") {
		port := int64(0)
		if list, _, _ := unstructured.NestedSlice(s.Object, "ports"); len(list) > 0 {
			port = list[0].(map[string]any)["port"].(int64)
		}
		pods := slicesOfMany(t, c)[s.GetName()]
		require.LessOrEqual(t, len(pods), 100)
		for _, name := range pods {
			require.EqualValues(t, ports[name], port, name)
		}
		listed = append(listed, pods...)
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(ports)), listed)
	addresses := 0
	subsets, _, _ := unstructured.NestedSlice(c.Get("Endpoints", "many").Object, "subsets")
	for _, s := range subsets {
		addresses += len(s.(map[string]any)["addresses"].([]any))
	}
	require.Equal(t, len(ports), addresses)
}

// TestEndpointsHaveAtMostAThousandAddresses checks what is left out, and that the Endpoints say so.
func TestEndpointsHaveAtMostAThousandAddresses(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 10})
	c.Load(manyService)
	text := ""
	for i := range 900 {
		text += manyPod(fmt.Sprintf("a%03d", i), 8080)
	}
	for i := range 300 {
		text += manyPod(fmt.Sprintf("b%03d", i), 9090)
	}
	c.Load(text)
	c.Settle()
	require.Equal(t, map[int64]int{8080: 750, 9090: 250}, addressesByPort(c))
	require.Equal(t, "truncated", c.Get("Endpoints", "many").GetAnnotations()["endpoints.kubernetes.io/over-capacity"])
	for i := range 200 {
		c.DeleteNow("Pod", fmt.Sprintf("b%03d", i))
	}
	c.Settle()
	require.Equal(t, map[int64]int{8080: 900, 9090: 100}, addressesByPort(c))
	require.NotContains(t, c.Get("Endpoints", "many").GetAnnotations(), "endpoints.kubernetes.io/over-capacity")
}

func addressesByPort(c *clustertest.Cluster) map[int64]int {
	found := map[int64]int{}
	subsets, _, _ := unstructured.NestedSlice(c.Get("Endpoints", "many").Object, "subsets")
	for _, s := range subsets {
		subset := s.(map[string]any)
		found[subset["ports"].([]any)[0].(map[string]any)["port"].(int64)] = len(subset["addresses"].([]any))
	}
	return found
}
