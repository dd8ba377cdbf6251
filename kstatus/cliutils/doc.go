// Package cliutils gives the rules of package kstatus to programs that use cli-utils: Helm 4, the
// controllers of Flux, and their own. It also makes a client of client-go's dynamic package a
// transport of package kstatus/wait.
//
// # Usage
//
// In a program that calls Helm 4's packages:
//
//	reader := cliutils.NewStatusReader(mapper, cliutils.Options{})
//	install := action.NewInstall(configuration)
//	install.WaitStrategy = kube.StatusWatcherStrategy
//	install.WaitOptions = []kube.WaitOption{kube.WithKStatusReaders(reader)}
//
// With the poller of Flux, as its kustomize-controller makes one:
//
//	poller := polling.NewStatusPoller(client, mapper, polling.Options{CustomStatusReaders: []engine.StatusReader{reader}})
//
// With Zarf, which takes a StatusWatcher in its health checks, and with the tasks of cli-utils:
//
//	statuses := collector.NewResourceStatusCollector(ids)
//	events := cliutils.NewStatusWatcher(client, mapper, cliutils.Options{}).Watch(ctx, ids, watcher.Options{})
//	<-statuses.ListenWithObserver(events, observer) // as Zarf and Helm do with the watcher of cli-utils
//
// With package wait, without cli-utils:
//
//	err := wait.For(ctx, cliutils.NewTransport(client, mapper), refs, wait.Policy{})
//
// The interface that Helm and Flux have is that of github.com/fluxcd/cli-utils. That of
// sigs.k8s.io/cli-utils has other types: package upstream is for it.
//
// # Verdicts
//
// The verdict on an object is that of [kstatus.Rules.Inspect]: children are looked up through the
// ClusterReader of the caller. A look-up of children that fails is the error of the ResourceStatus,
// whose status is the one on the object alone. An object that is suspended intentionally is Current.
//
// Helm and Flux take Failed for the end of the wait. Many failures heal, such as a container that
// starts after its third crash: with Options.TerminalOnly these are InProgress. With Options.Basis an
// object that is Current by a guess is InProgress, for a time after its creation or forever.
//
// Watchers of cli-utils compute a verdict when the object changes, and every few minutes. A verdict
// that time alone changes is late by that. [NewStatusWatcher] has package wait underneath, which
// computes it in time. Helm makes its watcher itself, so that it takes only readers.
//
// # Versions
//
// Other modules of stagecraft go down to Kubernetes 0.35. This one cannot: it needs the versions
// that cli-utils needs, Kubernetes 0.36 and controller-runtime 0.24. It is tested with Helm 4.3.
//
// # Concurrency
//
// Status readers and transports are safe for concurrent use, if the mapper is.
package cliutils
