package player_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A4 and case (b) of Ordered: an agent reports a cached status of the old version long after the delivery was
// confirmed. Its observedGeneration has not risen, so that it does not count.
func TestALateStatusOfTheOldVersion(t *testing.T) {
	scenario(t, portPolicy, func(t *testing.T, f *fleet) {
		f.lag, f.acted, f.counts = map[string]bool{}, map[string]string{}, map[string]int64{}
		f.push("1")
		lagging := func(version, other string) {
			f.lag["dev1"] = true
			f.push(version)
			f.run(60)
			require.Equal(t, versions(version, other), f.have, f.message())
			require.Contains(t, f.message(), "no status of the bound workload from dev1")
		}
		f.play(func() {
			f.run(40)
			require.True(t, f.holds("Succeeded"), f.message())
			lagging("2", "1")
			f.lag = map[string]bool{}
			f.run(40)
			require.Equal(t, versions("2", "2"), f.have, f.message())
			require.True(t, f.holds("Succeeded"), f.message())
			f.run(60) // at rest: a later status still counts
			require.True(t, f.holds("Succeeded"), f.message())
		})
		f.play(func() { lagging("3", "2") })
		f.play(func() { // another Player, that has not seen the delivery
			f.run(60)
			require.Equal(t, versions("3", "2"), f.have, f.message())
			f.lag = map[string]bool{}
			f.run(40)
			require.Equal(t, versions("3", "3"), f.have, f.message())
			require.True(t, f.holds("Succeeded"), f.message())
		})
	}, withSpace)
}

// An object that was deleted in a cluster and made again counts its generations from one. Its status is evidence if it
// was written after the delivery.
func TestAnObjectThatWasMadeAgain(t *testing.T) {
	scenario(t, strings.Replace(portPolicy, "progressDeadlineSeconds: 30", "soak: 60s", 1), func(t *testing.T, f *fleet) {
		f.lag, f.acted, f.counts = map[string]bool{}, map[string]string{}, map[string]int64{}
		f.play(func() {
			for _, version := range []string{"1", "2"} {
				f.push(version)
				f.run(100)
				require.True(t, f.holds("Succeeded"), f.message())
			}
			f.push("3")
			f.run(30)
			require.Equal(t, v1alpha1.Soaking, f.phase("prod"), f.message())
			f.counts["prod1"] = 1
			f.run(100)
			require.True(t, f.holds("Succeeded"), f.message())
		})
	}, withSpace)
}

// A15: a held cluster loses its Deployment and receives the newest content before its turn. It is named,
// nothing has succeeded until it was observed with the revision, and it takes its turn.
func TestAHeldClusterEscapes(t *testing.T) {
	policy := strings.Replace(portPolicy, "destinations)}", "destinations), soak: 2m}", 1)
	scenario(t, policy, func(t *testing.T, f *fleet) {
		events := 0
		f.options.Events = f.eventsNamed("Escaped", func(message string) {
			events++
			require.Contains(t, message, "prod1 was held at r1-")
			require.Contains(t, message, "probably r2-")
		})
		f.push("1")
		f.play(func() {
			f.run(180)
			require.True(t, f.holds("Succeeded"), f.message())
			f.push("2")
			f.run(20)
			require.Equal(t, versions("2", "1"), f.have, f.message())
			f.have["prod1"] = "" // somebody deletes it in the cluster
			require.NoError(t, f.hub.Delete(t.Context(), workStatusKind, types.NamespacedName{Namespace: "prod1", Name: "appsv1-deployment-shop-web"}, metav1.DeleteOptions{}))
			f.run(10)
			require.Equal(t, map[string]string{"dev1": "2", "prod1": "2", "prod2": "1"}, f.have)
			require.Equal(t, 1, events)
			require.Contains(t, f.message(), "it is not known what prod1 has")
			require.False(t, f.holds("Succeeded"))
			f.run(150)
			require.True(t, f.holds("Succeeded"), f.message())
			require.Equal(t, versions("2", "2"), f.have)
			require.NotContains(t, f.message(), "not known")
			f.have["prod1"] = "" // with the same content on the hub nothing escapes
			time.Sleep(time.Second)
			require.NoError(t, f.hub.Delete(t.Context(), workStatusKind, types.NamespacedName{Namespace: "prod1", Name: "appsv1-deployment-shop-web"}, metav1.DeleteOptions{}))
			f.run(10)
			require.True(t, f.holds("Succeeded"), f.message())
			require.Equal(t, 1, events)
		})
	}, withSpace)
}

// A cluster applies a revision, and is held before its agent has confirmed that, because the stage fails: it is not
// known any more to have what it had before.
func TestAClusterIsHeldBeforeItsDeliveryWasConfirmed(t *testing.T) {
	policy := strings.Replace(portPolicy, "progressDeadlineSeconds: 30", "perCluster: {maxUnavailable: 2}, failureCondition: num('sum') == 0", 1)
	scenario(t, policy, func(t *testing.T, f *fleet) {
		f.push("1")
		f.play(func() {
			f.run(40)
			require.True(t, f.holds("Succeeded"), f.message())
			f.bad["prod2@2"], f.unsaid = true, map[string]bool{"prod1": true}
			f.push("2")
			f.run(40)
			require.Equal(t, v1alpha1.RollbackNeeded, f.phase("prod"), f.message())
			require.Equal(t, versions("2", "2"), f.have)
			require.Contains(t, f.message(), "prod1, prod2 keeps")
			f.unsaid = nil
			f.push("1")
			f.run(60)
			require.Equal(t, versions("1", "1"), f.have, f.message())
			require.True(t, f.holds("Succeeded"), f.message())
		})
	}, withSpace)
}
