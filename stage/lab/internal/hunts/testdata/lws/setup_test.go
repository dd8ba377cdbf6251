//go:build !lws9

package lws_test

import (
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/lws/pkg/controllers"
)

// setup is setupControllers of the operator's main, v0.7 and v0.8.
func setup(m manager.Manager) error {
	if err := controllers.SetupIndexes(m.GetFieldIndexer()); err != nil {
		return err
	}
	recorder := m.GetEventRecorderFor("leaderworkerset")
	if err := controllers.NewLeaderWorkerSetReconciler(m.GetClient(), m.GetScheme(), recorder).SetupWithManager(m); err != nil {
		return err
	}
	return controllers.NewPodReconciler(m.GetClient(), m.GetScheme(), recorder, nil).SetupWithManager(m)
}

// The bugs of this version.
const has804, has998 = true, true
