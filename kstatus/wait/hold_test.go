package wait_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// TestABasisIsDemanded: a Widget whose status has no word that anybody knows is Current by a guess
// after five minutes, a phase is a word, and Ready a convention.
func TestABasisIsDemanded(t *testing.T) {
	const guess, word, ready = `{"status":{"url":"a"}}`, `{"status":{"phase":"Running"}}`,
		`{"status":{"phase":null,"conditions":[{"type":"Ready","status":"True"}]}}`
	for _, c := range []struct {
		name         string
		goal         wait.Goal
		first, later string        // patches at once, and after a quarter of an hour
		after        time.Duration // 0: it does not end
		says         string
	}{
		{name: "any basis", first: guess, after: 5 * time.Minute},
		{name: "words, which is a word", goal: wait.Goal{Basis: kstatus.BasisWords}, first: word, after: 0, says: ""},
		{name: "a convention, held for two minutes", goal: wait.Goal{Basis: kstatus.BasisConvention, HoldOn: 2 * time.Minute}, first: word, after: 2 * time.Minute},
		{name: "words, and the guess is held", goal: wait.Goal{Basis: kstatus.BasisWords, HoldOn: time.Minute}, first: guess, after: 6 * time.Minute},
		{name: "a convention, which comes", goal: wait.Goal{Basis: kstatus.BasisConvention}, first: word, later: ready, after: 15 * time.Minute},
		{
			name: "a rule, which does not come", goal: wait.Goal{Basis: kstatus.BasisKind}, first: ready, after: 20 * time.Minute,
			says: "Current (held, it rests on Convention) for 20m0s",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := world{t, memory.New(memory.Options{})}
				w.create(widgetsWith("schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}"), manifest(widget, ""))
				patch := func(data string) {
					_, err := w.Patch(context.Background(), widget.Kind, name(widget), types.MergePatchType, []byte(data), metav1.PatchOptions{})
					require.NoError(t, err)
				}
				patch(c.first)
				if c.later != "" {
					time.AfterFunc(15*time.Minute, func() { patch(c.later) })
				}
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
				defer cancel()
				began := time.Now()
				var lister transport.Lister = struct {
					transport.Reader
					transport.Watcher
				}{w.Cluster, w.Cluster}
				err := wait.For(ctx, lister, []wait.Ref{widget}, wait.Policy{Goal: c.goal})
				require.Equal(t, c.after, time.Since(began).Truncate(time.Second))
				if c.says == "" {
					require.NoError(t, err)
					return
				}
				require.ErrorContains(t, err, c.says)
			})
		})
	}
}

func TestABasisIsChecked(t *testing.T) {
	_, err := wait.NewCollector([]wait.Ref{widget}, wait.Policy{Goal: wait.Goal{Basis: 9, HoldOn: -1}})
	require.ErrorIs(t, err, wait.ErrInvalid)
	require.ErrorContains(t, err, "policy.Goal.Basis: there is no basis 9")
	require.ErrorContains(t, err, "policy.Goal.HoldOn: -1ns is negative")
	_, err = wait.NewCollector([]wait.Ref{widget}, wait.Policy{Goal: wait.Goal{HoldOn: time.Second}})
	require.ErrorContains(t, err, "nothing is held without a Basis")
}
