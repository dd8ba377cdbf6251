package main

import (
	"fmt"
	"os/exec"
	"strings"
)

// isTagged reports whether a tag of a module exists. The error names files of the module that have
// changed since.
func (c *checkout) isTagged(m *module, tag string) (bool, error) {
	if exec.Command("git", "-C", c.root, "rev-parse", "-q", "--verify", "refs/tags/"+tag).Run() != nil {
		return false, nil // a directory without git has no tags
	}
	out, err := exec.Command("git", "-C", c.root, "diff", "--name-only", "-z", tag, "--", m.dir).Output()
	if err != nil {
		return false, fmt.Errorf("compare with tag %s: %w", tag, err)
	}
	var changed []string
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if name != "" && c.owner(name) == m {
			changed = append(changed, name)
		}
	}
	if len(changed) > 0 {
		return false, fmt.Errorf("%s is tagged, and %d files of the module have changed since, such as %s: choose the next version, after make develop", tag, len(changed), changed[0])
	}
	return true, nil
}

// owner returns the module that a file of the tree belongs to.
func (c *checkout) owner(name string) *module {
	var best *module
	for _, m := range c.modules {
		within := m.dir == "." || strings.HasPrefix(name, m.dir+"/")
		if within && (best == nil || len(m.dir) > len(best.dir)) {
			best = m
		}
	}
	return best
}
