// Package browser looks at the pages of the simulator in a real browser. It is a module of its own because of what that takes; it has tests only.
package browser
