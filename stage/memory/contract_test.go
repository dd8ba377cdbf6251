package memory_test

import (
	"testing"

	"github.com/stagecraft-go/stagecraft/internal/dev/contract"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stretchr/testify/require"
)

func TestContract(t *testing.T) {
	contract.Run(t, func(t *testing.T) contract.Server {
		server := memory.New(memory.Options{})
		require.NoError(t, server.Load(t.Context(), []byte(contract.Definitions)))
		return server
	})
}
