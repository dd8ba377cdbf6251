// Package browser tests the pages of the simulator in a real browser.
package browser
