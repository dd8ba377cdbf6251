package kube

import (
	"fmt"
	"sync"

	"github.com/stagecraft-go/stagecraft/stage/player"
)

// users are the clients of those who are impersonated. They are as many as Stages name.
type users struct {
	mu      sync.Mutex
	writers map[string]player.Writer
}

func newUsers() *users { return &users{writers: map[string]player.Writer{}} }

// As returns the cluster as another user sees it. It is made once for each user, and uses the connections and the limit of this one. What is made by [New]
// cannot impersonate: every request of what it returns fails.
func (c *Cluster) As(user string) player.Writer {
	c.users.mu.Lock()
	defer c.users.mu.Unlock()
	w, known := c.users.writers[user]
	if !known {
		w = c.impersonate(user)
		c.users.writers[user] = w
	}
	return w
}

func (c *Cluster) impersonate(user string) player.Writer {
	if c.dialer == nil {
		return refusing{fmt.Errorf("cannot impersonate %q: the cluster was made without a configuration", user)}
	}
	client, err := c.dialer.dial(user, c.reading)
	if err != nil {
		return refusing{err}
	}
	return &Cluster{client: client, kinds: c.kinds, events: c.events, dialer: c.dialer, reading: c.reading, users: newUsers()}
}
