package player_test

import (
	"time"

	"github.com/stagecraft-go/stagecraft/internal/dev/fixture"
)

// start is the time at which all tests begin.
var start = time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)

var (
	object    = fixture.Object
	stageYAML = fixture.Stage
	phased    = fixture.StageIn
	compile   = fixture.Compile
)
