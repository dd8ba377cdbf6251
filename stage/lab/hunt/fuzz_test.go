package hunt_test

import (
	"testing"

	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
)

func FuzzBackups(f *testing.F) { hunt.Fuzz(f, mutantOptions(1), statusAsMemory(false)) }
