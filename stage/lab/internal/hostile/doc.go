// Package hostile has requests, objects and files of people who mean ill, and plays them against a
// lab behind its server. The server is another process: its memory is what the kernel says. A third
// process, the probe, reads and writes other objects meanwhile.
//
// The attacks are in the files attacks_*_test.go. TestHostileCorpus plays each of them twice, in order
// and in random order; FuzzHostileOrder plays more orders; make hostile also measures how long the
// probe waits.
package hostile
