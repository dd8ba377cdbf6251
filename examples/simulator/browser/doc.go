// Package browser tests the pages of the simulator in a real browser. It has only tests.
package browser
