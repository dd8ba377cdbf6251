package hostile_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/internal/dev/race"
)

// An attack sends hostile requests.
type attack struct {
	name string
	do   func(*client)
}

// attacks are all, in order.
func attacks() (all []attack) {
	for _, of := range []func() []attack{bodies, aliases, patches, selectors, definitions, policies, lists, workloads, metadata, media, subresources, floods, connections} {
		all = append(all, of()...)
	}
	return all
}

const (
	maxPeak     = 1 << 30
	memoryLimit = "700MiB"
	// maxOvertaken is how many requests may begin after one of the probe that waits longer than is fair, and end before it.
	maxOvertaken = 50
	// maxWait is the longest time that a request of the probe may take. Its requests take some milliseconds, and less than a second on a busy
	// machine; a lock that is held during somebody's work kept them waiting for 88 s.
	maxWait = 15 * time.Second
	// mostHistory is what may stay: the history of the cluster, whose limit is 64 MiB of text, as Go values.
	mostHistory = 150 << 20
)

// chosen are a tenth of the attacks, or all where tests do all that they can, or the ones that the environment names, with semicolons.
func chosen(all []attack) (some []attack) {
	if names := os.Getenv("HOSTILE"); names != "" {
		for name := range strings.SplitSeq(names, ";") {
			n := slices.IndexFunc(all, func(a attack) bool { return a.name == name })
			if n < 0 {
				panic(fmt.Sprintf("HOSTILE: there is no attack %q", name))
			}
			some = append(some, all[n])
		}
		return some
	}
	if !effort.All {
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	return effort.Some(all)
}

// TestTheCorpusIsLarge checks the number of attacks, and that no two have the same name.
func TestTheCorpusIsLarge(t *testing.T) {
	names := map[string]bool{}
	for _, a := range attacks() {
		require.False(t, names[a.name], a.name)
		names[a.name] = true
	}
	require.GreaterOrEqual(t, len(names), 200)
}

// TestHostileCorpus plays all attacks one after another, and again in random order: in CI without the attacks that take more than half
// a second, so that it takes two minutes. After each the
// objects of others are as they were and can be written, and while it goes on no request of the
// probe is overtaken by many others. At the end no goroutine is left, memory has returned, and it
// never was more than a GiB.
func TestHostileCorpus(t *testing.T) {
	if testing.Short() || race.On {
		t.Skip("measures memory: .ci/run plays it without the race detector")
	}
	s := start(t, memoryLimit)
	v := newVictim(t, s)
	all := chosen(attacks())
	v.play(all)
	again := slices.DeleteFunc(slices.Clone(all), func(a attack) bool { return os.Getenv("HOSTILE_TIMES") == "" && v.took[a.name] > time.Second/2 })
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	random.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
	v.play(again)
	v.rest()
	t.Logf("%d attacks, %d again in random order; peak %d MiB, %d before and %d after; the probe was overtaken by at most %d requests (%s), sent %d and waited %s at most; the slowest attacks: %s",
		len(all), len(again), s.peak(t)>>20, v.before.Heap>>20, v.last.Heap>>20, v.overtaken.Overtaken, v.overtaken.By, v.probed, v.longest, v.slowest())
}

// FuzzHostileOrder plays some attacks in other orders: three at a time, because Go ends a fuzz target
// that works on one input for ten seconds.
func FuzzHostileOrder(f *testing.F) {
	s := start(f, memoryLimit)
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		random, all := rand.New(rand.NewPCG(seed, 0)), attacks()
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		v := newVictim(t, s)
		v.play(all[:3])
		v.rest()
	})
}

// A victim is the server with the objects that no attack may change, and what was measured.
type victim struct {
	t         testing.TB
	server    *server
	owner     *client // of the sentinels
	probe     *probe
	before    figures
	idle      time.Duration // the longest that the probe waited without an attack
	sentinels map[string]string
	writes    int
	last      figures // after the last attack
	overtaken figures // the worst
	probed    int
	longest   time.Duration
	took      map[string]time.Duration
}

const thing = `{"apiVersion": "hostile.io/v1", "kind": "Thing", "metadata": {"name": "sentinel"}, "spec": {"n": 1}}`

// newVictim makes the objects of others, and the namespace of the attacks.
func newVictim(t testing.TB, s *server) *victim {
	v := &victim{t: t, server: s, owner: newClient(t, s.address, "owner"), probe: startProbe(t, s.address), sentinels: map[string]string{}, took: map[string]time.Duration{}}
	for path, object := range map[string]string{
		"/api/v1/namespaces": `{"metadata": {"name": "hostile"}}`,
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions": definitionOf("thing", `{"type": "object", "x-kubernetes-preserve-unknown-fields": true}`),
		"/api/v1/namespaces/default/configmaps":                   `{"metadata": {"name": "sentinel"}, "data": {"a": "b"}}`,
		"/api/v1/namespaces/default/secrets":                      `{"metadata": {"name": "sentinel"}, "stringData": {"a": "b"}}`,
	} {
		require.Contains(t, []int{http.StatusCreated, http.StatusConflict}, v.owner.post(path, object).code)
	}
	for _, name := range []string{"probe", "written"} {
		v.owner.post(strings.TrimSuffix(probedMaps, "/"), fmt.Sprintf(`{"metadata": {"name": %q, "labels": {"app": "probe"}}, "data": {"n": "0"}}`, name))
	}
	v.owner.post("/apis/hostile.io/v1/namespaces/default/things", thing)
	for _, path := range []string{probedMaps + "sentinel", "/api/v1/namespaces/default/secrets/sentinel", "/apis/hostile.io/v1/namespaces/default/things/sentinel"} {
		a := v.owner.get(path)
		require.Equal(t, http.StatusOK, a.code, "%s: %s %v", path, a.body, a.err)
		v.sentinels[path] = string(a.body)
	}
	v.before = s.figures(t, collecting)
	v.probe.begin()
	for range 200 {
		v.owner.get(probedMaps + "sentinel")
	}
	v.idle = v.probe.end().Longest
	return v
}

// play plays attacks, each together with the probe.
func (v *victim) play(all []attack) {
	for _, a := range all {
		v.probe.begin()
		attacker, begin := newClient(v.t, v.server.address, "attacker"), time.Now()
		a.do(attacker)
		v.took[a.name] = max(v.took[a.name], time.Since(begin))
		found := v.probe.end()
		require.Empty(v.t, found.Fault, "%s: the probe failed", a.name)
		attacker.cleanUp()
		attacker.http.CloseIdleConnections()
		v.check(a.name, found)
	}
}

// check checks that nothing is lost, and that the probe went on.
func (v *victim) check(name string, found probed) {
	for path, want := range v.sentinels {
		a := v.owner.get(path)
		require.NoError(v.t, a.err, name)
		require.Equal(v.t, want, string(a.body), "%s: %s", name, path)
	}
	v.writes++
	written := v.owner.patch(probedMaps+"written", mergeType, fmt.Sprintf(`{"data": {"n": "%d"}}`, v.writes))
	require.Equal(v.t, http.StatusOK, written.code, "%s: %s", name, written.body)
	f := v.server.figures(v.t, "")
	require.LessOrEqual(v.t, f.Overtaken, maxOvertaken, "%s: the probe was overtaken, by %s", name, f.By)
	require.Less(v.t, found.Longest, maxWait, "%s: the probe waited", name)
	if f.Overtaken > v.overtaken.Overtaken {
		v.overtaken = f
	}
	require.LessOrEqual(v.t, v.server.peak(v.t), maxPeak, "%s: bytes of memory", name)
	if os.Getenv("HOSTILE_VERBOSE") != "" {
		v.t.Logf("%-60s %8s; probe %d, at most %s and %s stolen, overtaken %d; heap %d MiB, peak %d MiB, %d goroutines",
			name, v.took[name].Round(time.Millisecond), found.Count, found.Longest.Round(time.Millisecond), found.Stolen, f.Overtaken, f.Heap>>20, v.server.peak(v.t)>>20, f.Goroutines)
	}
	v.probed += found.Count
	v.longest = max(v.longest, found.Longest)
	if os.Getenv("HOSTILE_TIMES") != "" {
		require.LessOrEqual(v.t, found.Longest, max(10*v.idle, 100*time.Millisecond), "%s: the probe waited, and the host took %s", name, found.Stolen)
	}
}

// rest checks that the server is as before the attacks.
func (v *victim) rest() {
	v.owner.http.CloseIdleConnections()
	require.Eventually(v.t, func() bool {
		v.last = v.server.figures(v.t, collecting)
		return v.last.Goroutines <= v.before.Goroutines+10
	}, 30*time.Second, 100*time.Millisecond, "goroutines stay")
	require.Less(v.t, v.last.Heap, v.before.Heap+mostHistory, "memory stays")
}

func (v *victim) slowest() (text string) {
	names := make([]string, 0, len(v.took))
	for name := range v.took {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool { return v.took[names[i]] > v.took[names[j]] })
	for _, name := range names[:min(8, len(names))] {
		text += fmt.Sprintf("%s %s; ", name, v.took[name].Round(time.Millisecond))
	}
	return text
}

// definitionOf returns a definition whose spec has a schema.
func definitionOf(name, spec string) string {
	kind := string(name[0]-32) + name[1:]
	return fmt.Sprintf(`{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "%[1]ss.hostile.io"}, "spec": {
		"group": "hostile.io", "scope": "Namespaced", "names": {"plural": "%[1]ss", "singular": %[1]q, "kind": %[2]q, "listKind": "%[2]sList"},
		"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": %[3]s}}}}]}}`, name, kind, spec)
}

func asJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}
