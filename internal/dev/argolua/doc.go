// Package argolua tests package kstatus/argolua with the health scripts of Argo CD, which are in
// package resource_customizations of its module. It also uses Argo CD's own test cases, which are
// in the conformance corpus. It is for development; nothing of Argo CD is copied.
package argolua
