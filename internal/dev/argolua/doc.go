// Package argolua measures package kstatus/argolua with the health scripts of Argo CD, which are in
// the package resource_customizations of its module, and with its own test cases, which are in the
// conformance corpus. It is for development; nothing of Argo CD is copied.
package argolua
