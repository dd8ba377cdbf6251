package shard_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube/shard"
)

func names(n int) []string {
	members := make([]string, n)
	for i := range members {
		members[i] = fmt.Sprintf("player-%d", i)
	}
	return members
}

// keysOf returns n keys as clusters have them: names that differ in their ends.
func keysOf(n int) []stage.Key {
	keys := make([]stage.Key, n)
	for i := range keys {
		keys[i] = stage.Key{Version: "v1", Kind: "Node", Name: fmt.Sprintf("node-%d", i)}
	}
	return keys
}

func TestMembersOwnEqualShares(t *testing.T) {
	const keys = 20_000
	for n := 1; n <= 10; n++ {
		owned := map[string]int{}
		for _, key := range keysOf(keys) {
			owned[shard.Owner(names(n), key)]++
		}
		require.Len(t, owned, n)
		for member, count := range owned {
			deviation := math.Sqrt(keys*float64(n-1)) / float64(n) // of a fair draw
			require.InDelta(t, keys/n, count, 4*deviation+1, "%s of %d", member, n)
		}
	}
}

func TestWhoComesOrGoesMovesItsOwnShareOnly(t *testing.T) {
	const keys = 10_000
	for n := 2; n <= 10; n++ {
		all := names(n)
		gone := all[n/2]
		rest := slices.Delete(slices.Clone(all), n/2, n/2+1)
		moved := 0
		for _, key := range keysOf(keys) {
			with, without := shard.Owner(all, key), shard.Owner(rest, key)
			if with == gone {
				moved++
			} else {
				require.Equal(t, with, without)
			}
		}
		require.InEpsilon(t, keys/n, moved, 0.1)
	}
}

func TestTheOrderOfMembersAndVersionsDoNotMatter(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, key := range keysOf(200) {
		members := names(5)
		want := shard.Owner(members, key)
		random.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		key.Version = "v2"
		require.Equal(t, want, shard.Owner(members, key))
	}
	require.Empty(t, shard.Owner(nil, stage.Key{}))
}

func TestPodsBelongToTheirNodes(t *testing.T) {
	node := stage.Key{Version: "v1", Kind: "Node", Name: "n1"}
	own := stage.Key{Version: "v1", Kind: "Pod", Namespace: "shop", Name: "web"}
	cases := []struct {
		name       string
		apiVersion string
		spec       any
		want       stage.Key
	}{
		{"bound", "v1", map[string]any{"nodeName": "n1"}, node},
		{"not bound", "v1", map[string]any{"nodeName": ""}, own},
		{"without a spec", "v1", nil, own},
		{"with a wrong spec", "v1", map[string]any{"nodeName": int64(1)}, own},
		{"of another group", "example.com/v1", map[string]any{"nodeName": "n1"}, stage.Key{Group: "example.com", Version: "v1", Kind: "Pod", Namespace: "shop", Name: "web"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, shard.KeyOf(pod(c.apiVersion, c.spec)))
		})
	}
}

func pod(apiVersion string, spec any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": "Pod", "metadata": map[string]any{"namespace": "shop", "name": "web"}, "spec": spec,
	}}
}
