//go:build broken715

package kuberay_test

const fixed, has715 = false, true // changed in a copy, see ../../operators
