// Package ctrlruntime plays Stages within a manager of controller-runtime.
package ctrlruntime

import (
	_ "sigs.k8s.io/controller-runtime/pkg/client"
	_ "sigs.k8s.io/controller-runtime/pkg/client/fake"
	_ "sigs.k8s.io/controller-runtime/pkg/manager"
)
