package workloads

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestDump(t *testing.T) {
	if os.Getenv("DUMP") == "" {
		t.Skip()
	}
	s := random(*seed, strings.Split(*kinds, ","))
	if os.Getenv("DUMP") == "min" {
		s, _ = minimal(t, s, "")
	}
	ours := playOurs(t, s)
	fmt.Println(s)
	for i, h := range []*history{playTheirs(t, s, ours.hashes), ours} {
		fmt.Println("=====", i)
		last := map[string]string{}
		for _, l := range h.lines {
			if strings.HasPrefix(l.name, "Event") {
				fmt.Println(l.at, l.name, l.state)
			} else if w := os.Getenv("WHAT"); w != "" && strings.HasPrefix(l.name, w) {
				fmt.Println(l.at, l.name, diff(last[l.name], l.state))
			}
			last[l.name] = l.state
		}
	}
}
