package labtest

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// labelNode gives a new Node the labels that its kubelet sets, unless it has them.
func labelNode(node *unstructured.Unstructured) {
	labels := map[string]any{
		"kubernetes.io/hostname": node.GetName(), "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
		"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64",
	}
	given, _ := object.Map(node.Object, "metadata", "labels")
	maps.Copy(labels, given)
	if metadata, ok := object.Map(node.Object, "metadata"); ok {
		metadata["labels"] = labels
	}
}
