package player_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/render"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// directing is [playing] for tests that speak to the Player.
func directing(t *testing.T, set *stage.Set, o player.Options, wrap func(transport.Transport) transport.Transport, test func(*testing.T, *memory.Cluster, *player.Player)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.New(memory.Options{})
		var transport transport.Transport = cluster
		if wrap != nil {
			transport = wrap(cluster)
		}
		player := player.New(set, transport, o)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- player.Run(ctx) }()
		synctest.Wait()
		test(t, cluster, player)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
}

// after lets time pass, and waits until all goroutines have handled it.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func delayed(name, phase, next string, ms int) string {
	return phased(name, phase, fmt.Sprintf("  delay: {durationMilliseconds: %d}\n  next: {statusTemplate: 'phase: %s'}", ms, next))
}

func TestPlayerUsesAnotherSet(t *testing.T) {
	run, end := delayed("run", "Pending", "Running", 10_000), delayed("end", "Running", "Succeeded", 10_000)
	directing(t, compile(t, run, end), player.Options{}, nil, func(t *testing.T, c *memory.Cluster, p *player.Player) {
		create(t, c, newPod("web", ""))
		after(7 * time.Second)
		p.Use(compile(t, run, strings.ReplaceAll(end, "Succeeded", "Failed")))
		after(2900 * time.Millisecond)
		require.Equal(t, "Pending", phase(t, c, webName))
		after(200 * time.Millisecond)
		require.Equal(t, "Running", phase(t, c, webName), "the due time of a Stage that stays the same, stays")

		p.Use(compile(t, run, delayed("end", "Running", "Unknown", 1000)))
		after(900 * time.Millisecond)
		require.Equal(t, "Running", phase(t, c, webName))
		after(200 * time.Millisecond)
		require.Equal(t, "Unknown", phase(t, c, webName), "one that differs is entered at once")

		p.Use(compile(t, run, delayed("again", "Unknown", "Pending", 1000)))
		after(1100 * time.Millisecond)
		require.Equal(t, "Pending", phase(t, c, webName), "an object that nothing was pending for is looked at")
	})
}

// Of several Sets that come at once the last counts, also before the player runs.
func TestTheLastSetCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := memory.New(memory.Options{})
		create(t, c, newPod("web", ""))
		p := player.New(compile(t, delayed("a", "Pending", "A", 1000)), c, player.Options{})
		p.Use(compile(t, delayed("b", "Pending", "B", 1000)))
		p.Use(compile(t, delayed("c", "Pending", "C", 1000)))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		require.ErrorIs(t, p.Run(ctx), context.DeadlineExceeded)
		require.Equal(t, "C", phase(t, c, webName))
	})
}

// TestAPlayIsFinishedWithItsOwnSet: the Set changes, and the kind goes, while an effect waits to be
// sent again.
func TestAPlayIsFinishedWithItsOwnSet(t *testing.T) {
	old := phased("go", "Pending", "  steps: [{patch: {subresource: status, root: status, template: 'phase: Running'}}, {patch: {root: metadata, template: 'labels: {by: old}'}}]")
	for name, next := range map[string]string{
		"another":  phased("go", "Pending", "  next: {patches: [{root: metadata, template: 'labels: {by: new}'}]}") + phased("then", "Running", "  next: {patches: [{root: metadata, template: 'labels: {then: new}'}]}"),
		"no stage": "",
	} {
		t.Run(name, func(t *testing.T) {
			var repaired atomic.Bool
			f := &flaky{fail: func(verb, sub string) error {
				if verb == "patch" && sub == "" && !repaired.Load() {
					return apierrors.NewServiceUnavailable("away")
				}
				return nil
			}}
			directing(t, compile(t, old), player.Options{}, wrapped(f), func(t *testing.T, c *memory.Cluster, p *player.Player) {
				create(t, c, newPod("web", ""))
				after(time.Second)
				p.Use(compile(t, next))
				after(time.Second)
				require.Equal(t, 1, p.Stats().Retrying)
				repaired.Store(true)
				after(time.Minute)
				obj, err := c.Get(t.Context(), podKind, webName)
				require.NoError(t, err)
				want := map[string]string{"by": "old"}
				if next != "" {
					want["then"] = "new"
				}
				require.Equal(t, want, obj.GetLabels())
				require.Zero(t, p.Stats().Retrying)
			})
		})
	}
}

// TestTheNewEnvLearns checks that the Env of a new Set knows the nodes, and does not give an
// address that a pod already has.
func TestTheNewEnvLearns(t *testing.T) {
	addressed := phased("address", "Pending", "  next: {statusTemplate: \"phase: Running\\npodIP: {{ PodIPWith .spec.nodeName false .metadata.uid .metadata.name .metadata.namespace }}\"}")
	fresh := func() *stage.Set {
		set, err := stage.Compile(stage.Options{Env: render.NewNetwork(render.NetworkOptions{})}, stage.Parse("s.yaml", []byte(addressed)))
		require.NoError(t, err)
		return set
	}
	directing(t, fresh(), player.Options{}, nil, func(t *testing.T, c *memory.Cluster, p *player.Player) {
		create(t, c, object(t, "{apiVersion: v1, kind: Node, metadata: {name: node}, spec: {podCIDR: 10.7.0.0/24}}"))
		synctest.Wait()
		seen := map[string]bool{}
		for round := range 5 {
			for i := range 10 {
				create(t, c, newPod(fmt.Sprintf("p%d-%d", round, i), ""))
			}
			synctest.Wait()
			p.Use(fresh())
			synctest.Wait()
		}
		list, err := c.List(t.Context(), podKind, "", metav1.ListOptions{})
		require.NoError(t, err)
		for _, item := range list.Items {
			ip, _, _ := unstructured.NestedString(item.Object, "status", "podIP")
			require.True(t, strings.HasPrefix(ip, "10.7.0."), ip)
			require.False(t, seen[ip], ip)
			seen[ip] = true
		}
		require.Len(t, seen, 50)
	})
}
