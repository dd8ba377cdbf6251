package memory

import "github.com/stagecraft-go/stagecraft/stage"

var (
	_ stage.Transport    = (*Cluster)(nil)
	_ stage.Impersonator = (*Cluster)(nil)
	_ stage.Sharer       = (*Cluster)(nil)
)

// As is [Cluster.Impersonate] as package stage asks for it.
func (c *Cluster) As(user string) stage.Writer { return c.Impersonate(user) }

// Share is [Cluster.Shared] as package stage asks for it.
func (c *Cluster) Share() stage.Transport { return c.Shared() }
