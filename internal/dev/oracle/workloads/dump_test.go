package workloads

import (
	"fmt"
	"os"
	"regexp"
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
	re := regexp.MustCompile(`"(deletionTimestamp|nodeName|restartCount|startedAt|phase|creationTimestamp)": *"?([^",]*)`)
	for i, h := range []*history{playTheirs(t, s, ours.hashes), ours} {
		fmt.Println("=====", i)
		for _, l := range h.lines {
			if !strings.HasPrefix(l.name, "Pods") {
				continue
			}
			fmt.Println(l.at, l.name)
			for _, p := range strings.Split(l.state, "\n}\n") {
				fmt.Println("   ", strings.ReplaceAll(fmt.Sprint(re.FindAllString(p, -1)), "2000-01-01T00:", ""))
			}
		}
	}
}
