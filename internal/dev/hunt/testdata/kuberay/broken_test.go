//go:build !fixed

package kuberay_test

const fixed = false
