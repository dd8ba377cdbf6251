package certificates_test

import (
	"os"
	"testing"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/reads"
)

// TestMain compares the fields that the tests read with the table of package features.
func TestMain(m *testing.M) { os.Exit(reads.Main(m)) }
