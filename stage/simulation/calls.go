package simulation

import (
	"context"

	"github.com/stagecraft-go/stagecraft/internal/timequeue"
)

// A call is a function that is to be called at a time.
type call struct {
	timequeue.Timer
	do func(context.Context) error
}

// calls are those of a simulation by time, and those of one time in the order in which they came.
type calls = timequeue.Queue[*call]
