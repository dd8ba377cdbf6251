package workloads

import "math/rand/v2"

const (
	templateNotes = "spec/template/metadata/annotations/"
	image         = "spec/template/spec/containers"
)

var images = []string{"[{name: c, image: i}]", "[{name: c, image: j}]", "[{name: c, image: k}]"}

// settingsOf are the fields that an object of a kind may have.
var settingsOf = map[string][]choice{
	"ReplicaSet": {
		{"spec/replicas", []string{"0", "2", "3", "5", "12"}},
		{"spec/minReadySeconds", []string{"1", "3"}},
		{templateNotes + "play~unready", []string{`"yes"`}},
		{templateNotes + "play~starts", []string{"0s", "4030ms"}},
	},
	"Deployment": {
		{"spec/replicas", []string{"0", "2", "3", "5", "10"}},
		{"spec/minReadySeconds", []string{"1", "3"}},
		{"spec/strategy", []string{"{type: Recreate}", "{rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}", "{rollingUpdate: {maxSurge: 0, maxUnavailable: 2}}", "{rollingUpdate: {maxSurge: 50%, maxUnavailable: 50%}}"}},
		{"spec/paused", []string{"true"}},
		{"spec/revisionHistoryLimit", []string{"0", "1"}},
		{"spec/progressDeadlineSeconds", []string{"5", "9"}},
		{templateNotes + "play~unready", []string{`"yes"`}},
		{templateNotes + "play~starts", []string{"0s", "4030ms"}},
	},
}

// stepsOf are what may happen to an object of a kind.
var stepsOf = map[string][]func(*rand.Rand) step{
	"ReplicaSet": {
		set("spec/replicas", "0", "1", "3", "4", "7"), set("spec/replicas", "0", "1", "3", "4", "7"), set("spec/minReadySeconds", "0", "2"),
		set("metadata/labels/x", "z"), set(image, images...),
		plain("delete"), plain("orphan"), plain("foreground"),
		pod("pod-gone"), pod("pod-fails"), pod("pod-unready"), podSet("metadata/labels/app", "b"), podSet("metadata/annotations/controller.kubernetes.io~pod-deletion-cost", `"-5"`, `"7"`),
	},
	"Deployment": {
		set("spec/replicas", "0", "1", "3", "4", "7"), set("spec/replicas", "0", "1", "3", "4", "7"), set("spec/minReadySeconds", "0", "2"),
		set(image, images...), set(image, images...), set(image, images...), set("spec/paused", "true", "null"), set("spec/paused", "null"),
		set("spec/strategy", "{type: Recreate}", "{type: RollingUpdate, rollingUpdate: {maxSurge: 2, maxUnavailable: 1}}"),
		set("spec/revisionHistoryLimit", "0", "1"), set("metadata/annotations/x", "z"), set(templateNotes+"play~unready", `"yes"`, "null"),
		plain("delete"), plain("orphan"), plain("foreground"),
		pod("pod-gone"), pod("pod-fails"), pod("pod-unready"), podSet("metadata/labels/app", "b"),
	},
}
