package envtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	upstream "sigs.k8s.io/controller-runtime/pkg/envtest"
)

// requireUser checks who a user of AddUser is.
func requireUser(t *testing.T, env *upstream.Environment) {
	jane, err := env.AddUser(upstream.User{Name: "jane", Groups: []string{"team"}}, nil)
	require.NoError(t, err)
	review := &authenticationv1.SelfSubjectReview{}
	require.NoError(t, newClient(t, jane.Config()).Create(t.Context(), review))
	require.Equal(t, "jane", review.Status.UserInfo.Username)
	require.Equal(t, []string{"team", "system:authenticated"}, review.Status.UserInfo.Groups)
}
