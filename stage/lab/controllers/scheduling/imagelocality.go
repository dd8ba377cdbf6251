package scheduling

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// Images smaller than the first size do not count. For each container, the part above the second
// size does not count.
const (
	leastImageSize = 23 << 20
	mostImageSize  = 1000 << 20
)

// imageLocality prefers Nodes that have the images of a Pod.
type imageLocality struct{}

func (imageLocality) Name() string { return "ImageLocality" }

// PreScore remembers on how many Nodes each image of the Pod is.
func (p imageLocality) PreScore(c *Cycle, _ []*NodeInfo) Status {
	counts, found := make([]int, len(c.Pod.images)), false
	for _, n := range c.Nodes {
		if len(n.images) == 0 {
			continue
		}
		for i, name := range c.Pod.images {
			if _, ok := n.images[name]; ok {
				counts[i]++
				found = true
			}
		}
	}
	c.Write(p, counts)
	return Status{Skip: !found}
}

func (p imageLocality) Score(c *Cycle, n *NodeInfo) int64 {
	var sum int64
	counts := c.Read(p).([]int)
	for i, name := range c.Pod.images {
		if size, ok := n.images[name]; ok {
			sum += int64(float64(size) * (float64(counts[i]) / float64(len(c.Nodes))))
		}
	}
	most := mostImageSize * c.Pod.containers
	return maxScore * (min(max(sum, leastImageSize), most) - leastImageSize) / (most - leastImageSize)
}

// imagesOf returns the images of a Pod's containers and volumes, and how many containers it has.
func imagesOf(spec map[string]any) (images []string, containers int64) {
	for _, field := range []string{"initContainers", "containers"} {
		for _, c := range fields.Maps(spec, field) {
			images = append(images, imageName(fields.String(c, "image")))
			containers++
		}
	}
	for _, volume := range fields.Maps(spec, "volumes") {
		if image := fields.Map(volume, "image"); image != nil {
			images = append(images, imageName(fields.String(image, "reference")))
		}
	}
	return images, containers
}

// imageName adds the tag that an image without one has.
func imageName(name string) string {
	if strings.LastIndex(name, ":") <= strings.LastIndex(name, "/") {
		return name + ":latest"
	}
	return name
}

// imagesOn returns the sizes of a Node's images by all their names.
func imagesOn(node *unstructured.Unstructured) map[string]int64 {
	var sizes map[string]int64
	for _, image := range fields.Maps(node.Object, "status", "images") {
		names, _ := object.Strings(image, "names")
		for _, name := range names {
			if sizes == nil {
				sizes = map[string]int64{}
			}
			sizes[name] = fields.Int64(image, 0, "sizeBytes")
		}
	}
	return sizes
}
