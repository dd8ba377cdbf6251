package kube

import (
	"fmt"
	"sync"

	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// impersonators are the clients of the users that Stages impersonate, one for each.
type impersonators struct {
	mu      sync.Mutex
	writers map[string]transport.Writer
}

func newImpersonators() *impersonators { return &impersonators{writers: map[string]transport.Writer{}} }

// As returns a Cluster that sends its requests as another user. There is one for each user, which
// shares the connections and the rate limit of this one. A Cluster made by [New] cannot
// impersonate: every request of the Cluster that As returns fails.
func (c *Cluster) As(user string) transport.Writer {
	c.users.mu.Lock()
	defer c.users.mu.Unlock()
	w, known := c.users.writers[user]
	if !known {
		w = c.impersonate(user)
		c.users.writers[user] = w
	}
	return w
}

func (c *Cluster) impersonate(user string) transport.Writer {
	if c.factory == nil {
		return failingWriter{fmt.Errorf("cannot impersonate %q: the cluster was made without a configuration", user)}
	}
	client, err := c.factory.newClient(user, c.reading)
	if err != nil {
		return failingWriter{err}
	}
	return &Cluster{client: client, kinds: c.kinds, events: c.events, factory: c.factory, reading: c.reading, users: newImpersonators()}
}
