package testing_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/stagecraft-go/stagecraft/examples/testing/website"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/fakes/ctrlruntime"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// newLab is a cluster with the operator in it, and controller-runtime's fake client of it.
func newLab(t *testing.T, failures ...labtest.Failure) (*labtest.Lab, client.Client) {
	crds, err := stage.Load("testdata/crd.yaml")
	require.NoError(t, err)
	r := &website.Reconciler{}
	lab := labtest.New(t, labtest.Options{Definitions: crds.OtherObjects(), Failures: failures, Operator: func(cluster *memory.Cluster) []reconcile.Controller {
		answers := ctrlruntime.Funcs(cluster, ctrlruntime.Options{Scheme: website.Scheme()})
		r.Client = fake.NewClientBuilder().WithScheme(website.Scheme()).WithInterceptorFuncs(answers).Build()
		return []reconcile.Controller{ctrlruntime.Controller(r, website.Kind, website.Deployments)}
	}})
	return lab, r.Client
}
