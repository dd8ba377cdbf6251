//go:build fixed

package kuberay_test

const fixed = true // by a build overlay, see the Makefile
