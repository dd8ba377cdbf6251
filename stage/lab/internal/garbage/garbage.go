// Package garbage has Go collect garbage less often where much work is done on few objects.
package garbage

import (
	"os"
	"runtime/debug"
	"sync"
)

var (
	mu     sync.Mutex
	users  int
	before int // GOGC before the first user
)

// CollectLess sets GOGC to 400 until the function that it returns is called: a third of the time of a
// simulation is the garbage collector's at 100. It does nothing if the environment has GOGC. It is for
// the whole process; of several users, the last one restores what was before the first. It is safe for
// concurrent use.
func CollectLess() (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	mu.Lock()
	defer mu.Unlock()
	if users++; users == 1 {
		before = debug.SetGCPercent(400)
	}
	return sync.OnceFunc(func() {
		mu.Lock()
		defer mu.Unlock()
		if users--; users == 0 {
			debug.SetGCPercent(before)
		}
	})
}
