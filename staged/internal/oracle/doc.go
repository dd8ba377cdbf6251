// Package oracle plays random histories against staged, by an oracle that was written by somebody who had
// not read the tests of the package: Binding, delivery, report and combination are four separate
// steps, with up to three controllers, clocks up to four minutes apart, crashes, refused writes, lost
// answers, and backups of the hub that are restored.
//
// # Usage
//
//	// N=120000 FIRST=0 go test -run TestSim -timeout 3h ./staged/internal/oracle
//
// It was adapted by as little as possible: approvals carry tickets and failures are retried by name, the
// evidence is that of a player with access to the space of the transport, and the time is that of
// the hub.
package oracle
