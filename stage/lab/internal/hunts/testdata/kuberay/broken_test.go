//go:build !fixed4849 && !broken715

package kuberay_test

const fixed, has715 = false, false
