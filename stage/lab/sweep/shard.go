package sweep

import (
	"fmt"
	"strconv"
	"strings"
)

// A Shard is a part of a sweep that one of several processes runs. The zero value is all of it.
type Shard struct {
	Index int // from 0
	Count int // how many processes there are; 0 counts as 1
}

// ParseShard reads "2/8": the third of eight. The first is 0/8, as the completion index of an
// indexed Job.
func ParseShard(text string) (Shard, error) {
	index, count, ok := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(index)
	n, err2 := strconv.Atoi(count)
	s := Shard{Index: i, Count: n}
	if !ok || err1 != nil || err2 != nil || n < 1 || s.check() != nil {
		return Shard{}, fmt.Errorf("sweep: shard %q: want i/n with 0 <= i < n", text)
	}
	return s, nil
}

// String prints "2/8".
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, max(s.Count, 1)) }

func (s Shard) check() error {
	if s.Index < 0 || s.Count < 0 || s.Index >= max(s.Count, 1) {
		return fmt.Errorf("sweep: shard %s: want 0 <= i < n", s)
	}
	return nil
}

// has reports whether a run is of this part. If a study stops by its measurements, all seeds of a
// point are in one part. Other studies spread the seeds over the parts, because a study can have
// few points.
func (s Shard) has(study Study, k key) bool {
	n := k.point
	if study.Stop == nil {
		n += (k.seed - 1) * study.points()
	}
	return n%max(s.Count, 1) == s.Index
}
