package explore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/delay"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/explore"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

func TestFormatPercent(t *testing.T) {
	for want, chance := range map[string]float64{
		"0%": 0, "100%": 1, "50%": 0.5, "33.3%": 1.0 / 3, "2.5%": 0.025, "0.01%": 0.0001, "99.99%": 0.9999, "1e-07%": 1e-9, "10%": 0.1, "9.1%": 1.0 / 11, "99%": 0.99,
	} {
		require.Equal(t, want, explore.FormatPercent(chance))
	}
}

func TestFormatDelay(t *testing.T) {
	for want, d := range map[string]delay.Range{
		"at once":    {},
		"5s":         {Given: true, Min: 5 * time.Second, Max: 5 * time.Second},
		"1s–5s":      {Given: true, Min: time.Second, Max: 5 * time.Second},
		"0–700ms":    {Given: true, Min: -time.Second, Max: 700 * time.Millisecond},
		"1m–1h30m":   {Given: true, Min: time.Minute, Max: 90 * time.Minute},
		"1h–1h0m10s": {Given: true, Min: time.Hour, Max: time.Hour + 10*time.Second},
		"29.5s":      {Given: true, Min: 29500 * time.Millisecond, Max: 29500 * time.Millisecond},
	} {
		require.Equal(t, want, explore.FormatDelay(d))
	}
}

func TestChange(t *testing.T) {
	long := strings.Repeat("ü", 61)
	for want, c := range map[string]explore.Change{
		".status.phase: Pending → Running": {Path: ".status.phase", Before: "Pending", After: "Running"},
		".status.n: 1":                     {Path: ".status.n", After: int64(1)},
		".status.n: true → nothing":        {Path: ".status.n", Before: true},
		`.status.s: "" → {"a":"<b>"}`:      {Path: ".status.s", Before: "", After: map[string]any{"a": "<b>"}},
		".s: " + long[:118] + "…":          {Path: ".s", After: long},
		".s: " + long[:120]:                {Path: ".s", After: long[:120]},
	} {
		require.Equal(t, want, c.String())
	}
}

func TestStagesOfAnAbsentKindAreNamedOnce(t *testing.T) {
	set := stage.MustCompile(presets.PodFast(), presets.NodeFast(), presets.Volumes())
	pod := object(t, "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {nodeName: n, containers: [{name: c, image: i}]}}")
	g, err := explore.Explore(t.Context(), set, explore.Options{}, pod)
	require.NoError(t, err)
	var absent []string
	for _, f := range g.Findings() {
		if strings.Contains(f, "no object that is explored is of this kind") {
			absent = append(absent, f)
		}
	}
	require.Len(t, absent, 3, "Node, PersistentVolumeClaim, PersistentVolume: %v", g.Findings())
}
