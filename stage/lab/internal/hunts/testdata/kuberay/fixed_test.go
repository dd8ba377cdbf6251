//go:build fixed4849

package kuberay_test

const fixed, has715 = true, false // changed in a copy, see ../../operators
