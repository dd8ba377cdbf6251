package kubelet

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The delays between attempts to pull an image.
const (
	pullDelay    = 10 * time.Second
	maxPullDelay = 5 * time.Minute
	// pullError is how long the status says ErrImagePull after an attempt.
	pullError = time.Second
)

// canPull reports whether an image can be pulled: it is not in the list, and its tag is not 404.
func (o Options) canPull(image string) bool {
	name, _, _ := strings.Cut(image, "@")
	return !slices.Contains(o.UnpullableImages, image) && !strings.HasSuffix(name, ":404")
}

// awaitImage is the status of a container whose image cannot be pulled, from when it was tried
// first. It returns when that changes next.
func (c *container) awaitImage(image string, since, now time.Time) (next time.Time) {
	attempt, delay := since, pullDelay
	for !attempt.Add(delay).After(now) {
		attempt, delay = attempt.Add(delay), min(2*delay, maxPullDelay)
	}
	if now.Before(attempt.Add(pullError)) {
		c.reason, c.waiting = "ErrImagePull", fmt.Sprintf("failed to pull and unpack image %q: not found", image)
		return attempt.Add(pullError)
	}
	c.reason, c.waiting = "ImagePullBackOff", fmt.Sprintf("Back-off pulling image %q: ErrImagePull: failed to pull and unpack image %q: not found", image, image)
	return attempt.Add(delay)
}
