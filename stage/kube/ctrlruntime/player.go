package ctrlruntime

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/player"
)

// Play adds a player to a manager, which runs it when its caches are complete and it is the leader,
// and stops it when the manager ends.
func Play(m manager.Manager, s *stage.Set, o player.Options) (*player.Player, error) {
	cluster, err := ForManager(m)
	if err != nil {
		return nil, err
	}
	player := player.New(s, cluster, o)
	return player, m.Add(runnable{player})
}

// runnable is a player in a manager. In a manager it is not an error if a runnable stops because
// its context is done.
type runnable struct{ player *player.Player }

var _ manager.LeaderElectionRunnable = runnable{}

func (r runnable) Start(ctx context.Context) error {
	if err := r.player.Run(ctx); ctx.Err() == nil {
		return err
	}
	return nil
}

// NeedLeaderElection is true, because two players would play every transition twice. To share the
// work use package shard.
func (runnable) NeedLeaderElection() bool { return true }
