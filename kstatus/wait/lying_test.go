package wait_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/dev/faults"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var gadgetKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"}

// gadget is an object whose verdict has its version as the message.
func gadget(name string, version int, ready bool) *unstructured.Unstructured {
	status := map[bool]string{true: "True", false: "False"}[ready]
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": map[string]any{"name": name, "namespace": "default"},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": status, "reason": "R", "message": fmt.Sprint(version)}}},
	}}
}

var servers = flag.Uint64("servers", 300, "how many lying servers TestLyingServers waits on")

// TestLyingServers waits for objects over servers and networks that fail for some minutes, at random:
// lists are old, and watches stall, repeat themselves and tell of older versions after newer ones. No
// verdict comes from an older version of an object than the verdict before. A wait whose objects become
// ready ends once the server is sound again; any other ends at its deadline. No goroutine stays:
// synctest waits for all.
func TestLyingServers(t *testing.T) {
	for seed := range *servers {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			cluster := memory.New(memory.Options{Kinds: []memory.Kind{{GroupVersionKind: gadgetKind}}})
			server := faults.Transport(cluster, faults.NewDice(seed, faults.All, []float64{0.1, 0.3, 0.6}[seed%3], time.Now().Add(5*time.Minute)))
			never := random.IntN(3) == 0
			var refs []wait.Ref
			for i := range 3 {
				obj := gadget(fmt.Sprint("w", i), 0, false)
				refs = append(refs, wait.RefOf(obj))
				_, err := cluster.Create(t.Context(), obj, metav1.CreateOptions{})
				require.NoError(t, err)
			}
			changing := make(chan struct{})
			go func() {
				defer close(changing)
				changes := rand.New(rand.NewPCG(seed, 8))
				for version := 1; version <= 20; version++ {
					time.Sleep(time.Duration(changes.IntN(30)) * time.Second)
					for i := range 3 {
						obj, err := cluster.Get(context.Background(), gadgetKind, types.NamespacedName{Namespace: "default", Name: fmt.Sprint("w", i)})
						require.NoError(t, err)
						obj.Object["status"] = gadget("", version, version == 20 && !never).Object["status"]
						_, err = cluster.Update(context.Background(), obj, metav1.UpdateOptions{})
						require.NoError(t, err)
					}
				}
			}()
			last := map[wait.Ref]int{}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
			defer cancel()
			began := time.Now()
			err := wait.For(ctx, server, refs, wait.Policy{Observe: func(_ *wait.Collector, s wait.State) {
				version, err := strconv.Atoi(s.Result.Message())
				if err != nil {
					return // not seen, or the look-up failed
				}
				require.GreaterOrEqual(t, version, last[s.Ref], "seed %d: %s has an older verdict", seed, s.Ref)
				last[s.Ref] = version
			}})
			if never {
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, 20*time.Minute, time.Since(began))
			} else {
				require.NoError(t, err, "seed %d", seed)
				require.Less(t, time.Since(began), 15*time.Minute)
			}
			for _, ref := range refs {
				require.Equal(t, 20, last[ref], "seed %d: the last verdict of %s", seed, ref)
			}
			<-changing
		})
	}
}
