package rbac

import (
	"context"
	_ "embed" // bootstrap.json
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// bootstrapText has the roles and bindings that kube-apiserver 1.36.3 creates, compared with one by
// internal/dev/e2e.
//
//go:embed bootstrap.json
var bootstrapText []byte

// Bootstrap creates the roles and bindings of a new Kubernetes, except those that exist.
func Bootstrap(ctx context.Context, c *memory.Cluster) error {
	var all []map[string]any
	if err := json.Unmarshal(bootstrapText, &all); err != nil {
		panic(err) // the file is part of the program
	}
	for _, fields := range all {
		u := &unstructured.Unstructured{Object: fields}
		_, err := c.Create(ctx, u, metav1.CreateOptions{FieldManager: "kube-apiserver"})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating %s %s: %w", u.GetKind(), u.GetName(), err)
		}
	}
	return nil
}
