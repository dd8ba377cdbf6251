package presets

import (
	_ "embed"

	"github.com/stagecraft-go/stagecraft/stage"
)

var (
	//go:embed node-fast.yaml
	nodeFast string
	//go:embed node-heartbeat.yaml
	nodeHeartbeat string
	//go:embed node-heartbeat-with-lease.yaml
	nodeHeartbeatWithLease string
	//go:embed node-chaos.yaml
	nodeChaos string
	//go:embed pod-fast.yaml
	podFast string
	//go:embed pod-general.yaml
	podGeneral string
	//go:embed pod-chaos.yaml
	podChaos string
	//go:embed volumes.yaml
	volumes string
)

// NodeFast makes a Node ready as soon as it exists. It keeps addresses, capacity and node
// information that the Node has.
func NodeFast() stage.Source { return parse("node-fast.yaml", nodeFast) }

// NodeHeartbeat renews the conditions of a ready Node every 20 to 25 seconds, for clusters without
// node leases.
func NodeHeartbeat() stage.Source { return parse("node-heartbeat.yaml", nodeHeartbeat) }

// NodeHeartbeatWithLease renews the conditions and addresses of a ready Node every 600 to 610
// seconds, for clusters in which another program renews its Lease.
func NodeHeartbeatWithLease() stage.Source {
	return parse("node-heartbeat-with-lease.yaml", nodeHeartbeatWithLease)
}

// NodeChaos makes a running Node not ready if it has the label
// node-not-ready.stage.kwok.x-k8s.io=true. [NodeFast] makes it ready again once the label is
// removed.
func NodeChaos() stage.Source { return parse("node-chaos.yaml", nodeChaos) }

// PodFast makes a Pod ready as soon as it exists, completes it at once if a Job owns it, and
// deletes it when its deletion is requested.
func PodFast() stage.Source { return parse("pod-fast.yaml", podFast) }

// PodGeneral takes a Pod through the same phases as a kubelet does, init containers included, with
// 1 to 5 seconds in each Stage. Its Stages have the same names as the Stages of [PodFast]: a Set
// can have only one of the two presets.
func PodGeneral() stage.Source { return parse("pod-general.yaml", podGeneral) }

// PodChaos makes Pods fail: running Pods with the label
// pod-container-running-failed.stage.kwok.x-k8s.io=true, and pending Pods with the label
// pod-init-container-running-failed.stage.kwok.x-k8s.io=true.
func PodChaos() stage.Source { return parse("pod-chaos.yaml", podChaos) }

// Volumes provisions and binds the PersistentVolumeClaims of the storage class kwok-volume, and
// deletes their volumes after them. The StorageClass itself is among the other objects
// of the Source; the caller has to create it.
func Volumes() stage.Source { return parse("volumes.yaml", volumes) }

// parse makes a Source of an embedded file. A test checks that it has no faults.
func parse(name, text string) stage.Source {
	return stage.Parse("presets/"+name, []byte(text))
}
