module github.com/stagecraft-go/stagecraft/examples/stagecraft/packaging

go 1.26.0

require (
	github.com/google/go-containerregistry v0.21.4
	github.com/stretchr/testify v1.12.1
)
