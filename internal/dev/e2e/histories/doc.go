// Package histories plays the histories of internal/dev/histories over HTTP: the player reaches
// stage/lab/apiserver by stage/kube and client-go, and faults strike between them, as proxies and
// networks have them. It needs no kube-apiserver.
package histories
