package labtest

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// restored returns the cluster of Options.Backup, with Options.Definitions; nil without a Backup.
func (l *Lab) restored() (*memory.Cluster, error) {
	o := l.options
	if o.Backup == nil {
		return nil, nil
	}
	c, err := o.Backup.Cluster(memory.Options{
		Seed: o.Seed, Kinds: o.Kinds, RequireNamespaces: true, RequireOwners: true, LateCollection: o.GarbageCollection != nil,
	})
	if err != nil {
		return nil, fmt.Errorf("Options.Backup: %w", err)
	}
	for _, crd := range o.Definitions {
		if _, err := c.Create(context.Background(), crd, metav1.CreateOptions{}); err != nil {
			return nil, fmt.Errorf("Options.Definitions: %w", err)
		}
	}
	return c, nil
}
