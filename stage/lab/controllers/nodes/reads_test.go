package nodes_test

import (
	"os"
	"testing"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/reads"
)

// TestMain compares what the tests read with the table of package features.
func TestMain(m *testing.M) { os.Exit(reads.Main(m)) }
