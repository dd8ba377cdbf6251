package labtest

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/kubelet"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// podKubelets returns the controller that does what Pods say, unless the Stages of the options are
// for Pods.
func (l *Lab) podKubelets() []reconcile.Controller {
	if l.options.OnlyStages || slices.ContainsFunc(l.options.Stages[2:], playsPods) { // the first two are the presets
		return nil
	}
	return []reconcile.Controller{kubelet.Pods(l.options.Kubelets, nil)}
}

func playsPods(s stage.Source) bool {
	for _, st := range s.Stages() {
		if ref := st.Spec.ResourceRef; ref.Kind == "Pod" && (ref.APIGroup == "" || ref.APIGroup == "v1") {
			return true
		}
	}
	return false
}

// runsInKubelet reports whether a Pod is not played by Stages, because a kubelet does what it says.
func (l *Lab) runsInKubelet(obj *unstructured.Unstructured) bool {
	return obj.GroupVersionKind() == pods && isBound(obj) && l.runs(kubelet.Name)
}
