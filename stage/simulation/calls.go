package simulation

import (
	"context"

	"github.com/stagecraft-go/stagecraft/internal/timequeue"
)

// A call is a function with the time of its call.
type call struct {
	timequeue.Timer
	do func(context.Context) error
}

// calls are the calls of a simulation by time; equal times in the order of addition.
type calls = timequeue.Queue[*call]
