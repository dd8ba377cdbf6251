package recording

import (
	_ "embed"

	"github.com/stagecraft-go/stagecraft/stage"
)

//go:embed kubelet.yaml
var kubelet []byte

// Kubelet returns Stages that replace a kubelet. They do with a Pod what [PlayAnnotation] says.
func Kubelet() stage.Source { return stage.Parse("recording/kubelet.yaml", kubelet) }
