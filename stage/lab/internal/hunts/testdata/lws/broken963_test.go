//go:build lws9 && !fixed963

package lws_test

const has963 = true
