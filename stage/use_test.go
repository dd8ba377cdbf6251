package stage_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stagecraft-go/stagecraft/delay"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// podKind is the kind of most test objects.
var podKind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

func TestEngineUse(t *testing.T) {
	wait := func(name string, ms int) string {
		return phased(name, "Pending", fmt.Sprintf("  delay: {durationMilliseconds: %d, jitterDurationMilliseconds: 5000}", ms))
	}
	ofNodes := strings.Replace(stageYAML("beat", "  selector: {}"), "{kind: Pod}", "{kind: Node}", 1)
	ofMaps := strings.Replace(stageYAML("map", "  selector: {}"), "{kind: Pod}", "{kind: ConfigMap}", 1)
	node := schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	configMap := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	obj := pod(t, "{}", "{phase: Pending}")
	for _, c := range []struct {
		name, before, after string
		differs             []schema.GroupVersionKind
		keeps               bool
		want                recorder // until the object was observed again, two seconds later
	}{
		{"the same", wait("go", 1000), wait("go", 1000), nil, true, nil},
		{"another kind is gone", wait("go", 1000) + ofNodes, wait("go", 1000), []schema.GroupVersionKind{node}, true, nil},
		{"another kind is new", wait("go", 1000), ofMaps + wait("go", 1000), []schema.GroupVersionKind{configMap}, true, nil},
		{"a neighbour is new", wait("go", 1000), stageYAML("other", "  selector: {}") + wait("go", 1000), []schema.GroupVersionKind{podKind}, true, nil},
		{"another spec", wait("go", 1000), wait("go", 2000), []schema.GroupVersionKind{podKind}, false, recorder{"+0s cancelled go", "+2s scheduled go"}},
		{"another name", wait("go", 1000), wait("run", 1000), []schema.GroupVersionKind{podKind}, false, recorder{"+0s cancelled go", "+2s scheduled run"}},
		{"no stages for the kind", wait("go", 1000), ofNodes, []schema.GroupVersionKind{podKind, node}, false, recorder{"+0s cancelled go", "+0s forgotten "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var trace recorder
			e := stage.NewEngine(compile(t, c.before), stage.EngineOptions{Seed: 7, Trace: trace.add})
			require.NoError(t, e.Observe(obj, start))
			before, _ := e.NextDue()
			trace = nil
			require.Equal(t, c.differs, e.Use(compile(t, c.after), start))
			require.NoError(t, e.Observe(obj, at(2*time.Second)))
			require.Equal(t, c.want, trace)
			if c.keeps {
				now, _ := e.NextDue()
				require.Equal(t, before, now)
				got := due(e, now)
				require.Len(t, got, 1)
				effects, err := got[0].Effects(obj, now)
				require.NoError(t, err)
				require.Empty(t, effects)
			}
		})
	}
}

// TestEngineUseSeesExtensions changes nothing but an annotation.
func TestEngineUseSeesExtensions(t *testing.T) {
	set := func(offset string) *stage.Set {
		text := strings.Replace(phased("go", "Pending", ""), "{name: go}", "{name: go, annotations: {other: a, "+delay.ExtensionAnnotation+": 'offset: "+offset+"'}}", 1)
		set, err := stage.Compile(stage.Options{Extensions: true}, stage.Parse("stages.yaml", []byte(text)))
		require.NoError(t, err)
		return set
	}
	e := stage.NewEngine(set("1h"), stage.EngineOptions{})
	obj := pod(t, "{}", "{phase: Pending}")
	require.NoError(t, e.Observe(obj, start))
	require.Empty(t, e.Use(set("1h"), start))
	require.Equal(t, []schema.GroupVersionKind{podKind}, e.Use(set("1s"), start))
	require.NoError(t, e.Observe(obj, start))
	next, _ := e.NextDue()
	require.Equal(t, at(time.Second), next)
}

// TestEngineUseFreesWhatLooped checks that a user who repairs a Stage need not touch the parked
// objects.
func TestEngineUseFreesWhatLooped(t *testing.T) {
	e := stage.NewEngine(compile(t, phased("loop", "Pending", "")), stage.EngineOptions{LivelockLimit: 3})
	obj := pod(t, "{}", "{phase: Pending}")
	obj.SetResourceVersion("1")
	for range 3 {
		require.NoError(t, e.Observe(obj, start))
		due(e, start)
	}
	require.ErrorIs(t, e.Observe(obj, start), stage.ErrLivelock)
	require.NoError(t, e.Observe(obj, at(time.Hour)))
	require.Zero(t, e.Pending())
	e.Use(compile(t, phased("loop", "Pending", "  delay: {durationMilliseconds: 1000}")), at(time.Hour))
	require.NoError(t, e.Observe(obj, at(time.Hour)))
	require.Equal(t, 1, e.Pending())
}
