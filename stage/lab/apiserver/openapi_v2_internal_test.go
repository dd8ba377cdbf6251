package apiserver

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// TestNobodyWaitsForADocument asks for a kind while the document of OpenAPI v2 is made, which took a
// lock that every request needs, and asks for the document twice, which is made once.
func TestNobodyWaitsForADocument(t *testing.T) {
	begun, release, made := make(chan struct{}), make(chan struct{}), 0
	x := &kindIndex{}
	require.NoError(t, x.start(memory.New(memory.Options{}), func([]group) (*specV2, error) {
		made++
		close(begun)
		<-release
		return &specV2{}, nil
	}))
	document := make(chan *specV2, 2)
	for range 2 {
		go func() {
			v2, _ := x.specV2()
			document <- v2
		}()
	}
	<-begun
	require.NotNil(t, x.lookup(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}))
	close(release)
	require.Same(t, <-document, <-document)
	require.Equal(t, 1, made)
}
