package bench

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
)

// both prepares a Stage with this spec for a Pod on both sides.
func both(t *testing.T, spec string) (*Kwok, *Stagecraft, *unstructured.Unstructured) {
	c := caseFrom(t, difference{object: pod, spec: spec})
	k, err := NewKwok(c.Stages, Placeholders())
	require.NoError(t, err)
	o, err := NewStagecraft(c, Placeholders())
	require.NoError(t, err)
	return k, o, c.object()
}

func TestKwokSeesPodsAsGoTypes(t *testing.T) {
	k, o, obj := both(t, `selector: {matchExpressions: [{cel: {expression: "self.kind == 'Pod'"}}]}`)
	typed, ok := typedInput(obj)
	require.True(t, ok)
	_, err := k.Of(obj).Match(context.Background(), typed.event())
	require.ErrorContains(t, err, "undefined field 'kind'")
	require.Len(t, o.Set.Candidates(obj, Now), 1)
}

func TestKwokRedraws(t *testing.T) {
	k, o, obj := both(t, `selector: {}, delay: {durationMilliseconds: 1000, jitterDurationMilliseconds: 3600000}`)
	engine, dues, delays := stage.NewEngine(o.Set, stage.EngineOptions{}), map[time.Time]bool{}, map[time.Duration]bool{}
	for range 10 {
		st, err := k.Of(obj).Match(context.Background(), EventOf(obj))
		require.NoError(t, err)
		delay, _, err := st.Delay(context.Background(), EventOf(obj), Now)
		require.NoError(t, err)
		delays[delay] = true
		engine.Observe(obj, Now)
		due, ok := engine.NextDue()
		require.True(t, ok)
		dues[due] = true
	}
	require.Greater(t, len(delays), 1)
	require.Len(t, dues, 1)
}
