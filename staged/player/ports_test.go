package player_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A1: a bad revision goes to dev and prod, and back. No cluster loses the workload at any time.
func TestABadRevisionIsRolledBack(t *testing.T) {
	eachPort(t, portPolicy, func(t *testing.T, f *fleet) {
		f.push("1")
		f.play(func() {
			f.run(40)
			require.True(t, f.holds("Succeeded"), f.message())
			require.True(t, f.holds("Verified"))
			require.Equal(t, versions("1", "1"), f.have)
			f.bad["prod1@2"] = true
			f.push("2")
			f.run(30)
			require.Equal(t, versions("2", "2"), f.have, f.message())
			f.run(60)
		})
		f.play(func() { // another Player goes on, from what is stored
			f.run(20)
			if !f.old {
				require.Equal(t, v1alpha1.RollbackNeeded, f.phase("prod"), f.message())
				require.Contains(t, f.message(), "until the source holds r1-")
				require.Equal(t, versions("2", "2"), f.have)
				f.push("1")
				f.run(60)
				require.Equal(t, versions("1", "1"), f.have, f.message())
				require.True(t, f.holds("Succeeded"), f.message())
				return
			}
			require.Equal(t, v1alpha1.RolledBack, f.phase("prod"), f.message())
			require.Equal(t, versions("2", "1"), f.have, f.message())
			f.push("3")
			f.run(60)
			require.Equal(t, versions("3", "3"), f.have, f.message())
			require.True(t, f.holds("Succeeded"), f.message())
		})
	})
}

// A1, RollbackAll and RollbackBatch: every cluster that got the bad revision goes back, or only those of the failed
// batch do.
func TestABadRevisionIsRolledBackInAllStagesOrOneBatch(t *testing.T) {
	for onFailure, want := range map[string]map[string]string{"RollbackAll": versions("1", "1"), "RollbackBatch, maxConcurrency: 1": {"dev1": "2", "prod1": "2", "prod2": "1"}} {
		eachPort(t, strings.Replace(portPolicy, "Rollback", onFailure, 1), func(t *testing.T, f *fleet) {
			f.push("1")
			f.play(func() {
				f.run(50)
				require.True(t, f.holds("Succeeded"), f.message())
				f.bad["prod2@2"] = true
				f.push("2")
				f.run(100)
				if f.old {
					require.Equal(t, v1alpha1.RolledBack, f.phase("prod"), f.message())
					require.Equal(t, want, f.have, f.message())
					return
				}
				require.Equal(t, v1alpha1.RollbackNeeded, f.phase("prod"), f.message())
				require.Equal(t, versions("2", "2"), f.have, f.message())
				require.Contains(t, f.message(), "until the source holds r1-")
				f.push("1")
				f.run(60)
				require.Equal(t, versions("1", "1"), f.have, f.message())
			})
		})
	}
}

// A2, A4: while a cluster does not receive the revision, nothing that it reports counts, and no later
// stage begins.
func TestOldReportsDoNotCount(t *testing.T) {
	eachPort(t, portPolicy, func(t *testing.T, f *fleet) {
		f.push("1")
		f.play(func() {
			f.run(40)
			f.offline["dev1"] = true
			f.push("2")
			f.run(60)
			require.Equal(t, versions("1", "1"), f.have, f.message())
			require.Contains(t, f.message(), "is not delivered to dev1 (it has r1-")
			delete(f.offline, "dev1")
			f.run(60)
			require.Equal(t, versions("2", "2"), f.have, f.message())
			require.True(t, f.holds("Succeeded"), f.message())
		})
	})
}

// A3: a cluster that is offline, with a report from before the revision, is waited for by name, or set aside by
// name. It gets the revision when it is back.
func TestAnOfflineClusterOverAllPorts(t *testing.T) {
	for field, passes := range map[string]bool{"soak: 0s": false, "maxSilent: 1": true, "deliveryDeadlineSeconds: 20, maxFailures: 1": true} {
		policy := strings.Replace(portPolicy, "condition: num('sum') == size(destinations)}", "condition: num('sum') >= 1, guards: {allowErrors: true}, "+field+"}", 1)
		t.Run(field, func(t *testing.T) {
			eachPort(t, policy, func(t *testing.T, f *fleet) {
				f.join("dev2", "dev")
				f.push("1")
				f.play(func() {
					f.run(40)
					require.True(t, f.holds("Succeeded"), f.message())
					f.offline["dev2"] = true
					f.push("2")
					f.run(90)
					require.Equal(t, "1", f.have["dev2"])
					require.Equal(t, passes, f.have["prod1"] == "2", f.message())
					require.Equal(t, passes, f.holds("Succeeded"), f.message())
					if passes {
						require.Contains(t, f.message(), "except in dev2 (r1-")
					} else {
						require.Contains(t, f.message(), "is not delivered to dev2 (it has r1-")
					}
					delete(f.offline, "dev2")
					f.run(40)
					require.Equal(t, map[string]string{"dev1": "2", "dev2": "2", "prod1": "2", "prod2": "2"}, f.have, f.message())
					require.True(t, f.holds("Succeeded"), f.message())
					require.NotContains(t, f.message(), "except")
				})
			})
		})
	}
}

// The deadline of a delivery is that of each cluster: one that joins later has as long as the others had.
func TestADeliveryDeadlineOverAllPorts(t *testing.T) {
	policy := strings.Replace(portPolicy, "condition: num('sum') == size(destinations)}",
		"condition: num('sum') >= 1, guards: {allowErrors: true}, deliveryDeadlineSeconds: 60, maxFailures: 2}", 1)
	eachPort(t, policy, func(t *testing.T, f *fleet) {
		aside := func(cluster string) string { return records(f.status())[cluster].SetAside }
		f.join("dev2", "dev")
		f.push("1")
		f.play(func() {
			f.run(40)
			require.True(t, f.holds("Succeeded"), f.message())
			f.offline["dev2"], f.offline["dev3"] = true, true
			f.push("2")
			f.run(50)
			f.join("dev3", "dev")
			f.run(30)
			require.Contains(t, aside("dev2"), "was not delivered within 1m0s", f.message())
			require.Empty(t, aside("dev3"), f.message())
			require.Equal(t, "1", f.have["prod1"], f.message())
			f.run(50)
			require.Contains(t, aside("dev3"), "was not delivered within 1m0s", f.message())
			f.run(20)
			require.Equal(t, "2", f.have["prod1"], f.message())
			require.True(t, f.holds("Succeeded"), f.message())
		})
	})
}

// A17: the old text again is the old revision: clusters that still have it receive nothing.
func TestABAOverAllPorts(t *testing.T) {
	eachPort(t, portPolicy, func(t *testing.T, f *fleet) {
		f.push("1")
		f.play(func() {
			f.run(40)
			f.bad["dev1@2"] = true
			f.push("2")
			f.run(20)
			require.Equal(t, versions("2", "1"), f.have, f.message())
			f.push("1")
			f.run(60)
			require.Equal(t, versions("1", "1"), f.have, f.message())
			require.True(t, f.holds("Succeeded"), f.message())
			require.Equal(t, []string{"1"}, f.ever["prod1"], "prod never saw 2")
			require.Len(t, f.status().Revisions, 2)
		})
	})
}

// A source that holds an older revision again, as after the restore of a backup, is reported by an event.
func TestASourceThatGoesBackIsReported(t *testing.T) {
	eachPort(t, portPolicy, func(t *testing.T, f *fleet) {
		var events []string
		f.options.Events = f.eventsNamed("SourceWentBack", func(message string) { events = append(events, message) })
		for _, version := range []string{"1", "2", "3"} {
			f.push(version)
			f.play(func() { f.run(40) })
			require.True(t, f.holds("Succeeded"), f.message())
		}
		require.Empty(t, events)
		names := f.status().Revisions
		f.push("2")
		f.play(func() { f.run(40) })
		require.Equal(t, []string{fmt.Sprintf("the source holds %s again, which is older than %s", names[1].Name, names[2].Name)}, events)
		require.Equal(t, versions("2", "2"), f.have, f.message())
	})
}

// The source comes back to a revision before the delivery of another one was confirmed: nothing has succeeded before
// each cluster was seen to have it again.
func TestARevisionComesBackBeforeAnotherWasConfirmed(t *testing.T) {
	eachPort(t, portPolicy, func(t *testing.T, f *fleet) {
		f.push("1")
		f.play(func() {
			f.run(40)
			require.True(t, f.holds("Succeeded"), f.message())
			f.unsaid = map[string]bool{"dev1": true}
			f.push("2")
			f.run(20)
			require.Equal(t, versions("2", "1"), f.have, f.message())
			f.offline["dev1"], f.unsaid = true, nil
			f.push("1")
			f.run(30)
			require.Equal(t, versions("2", "1"), f.have)
			require.False(t, f.holds("Succeeded"), f.message())
			f.offline["dev1"] = false
			f.run(40)
			require.Equal(t, versions("1", "1"), f.have, f.message())
			require.True(t, f.holds("Succeeded"), f.message())
		})
	})
}
