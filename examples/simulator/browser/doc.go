// Package browser looks at the pages of the simulator in a real browser. It has tests only.
package browser
