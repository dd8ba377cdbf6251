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
		{templateNotes + "play~restarts", []string{`"0"`}},
		{templateNotes + "play~unready", []string{`"yes"`}},
		{templateNotes + "play~starts", []string{"0ms", "4030ms"}},
	},
	"Deployment": {
		{"spec/replicas", []string{"0", "2", "3", "5", "10"}},
		{"spec/minReadySeconds", []string{"1", "3"}},
		{"spec/strategy", []string{"{type: Recreate}", "{rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}", "{rollingUpdate: {maxSurge: 0, maxUnavailable: 2}}", "{rollingUpdate: {maxSurge: 50%, maxUnavailable: 50%}}"}},
		{"spec/paused", []string{"true"}},
		{"spec/revisionHistoryLimit", []string{"0", "1"}},
		{"spec/progressDeadlineSeconds", []string{"5", "9"}},
		{templateNotes + "play~restarts", []string{`"0"`}},
		{templateNotes + "play~unready", []string{`"yes"`}},
		{templateNotes + "play~starts", []string{"0ms", "4030ms"}},
	},
	"StatefulSet": {
		{"spec/replicas", []string{"0", "2", "3", "5"}},
		{"spec/minReadySeconds", []string{"1", "3"}},
		{"spec/podManagementPolicy", []string{"Parallel"}},
		{"spec/ordinals", []string{"{start: 2}"}},
		{"spec/updateStrategy", []string{"{type: OnDelete}", "{type: RollingUpdate, rollingUpdate: {partition: 1}}", "{type: RollingUpdate, rollingUpdate: {partition: 9}}", "{type: RollingUpdate, rollingUpdate: {maxUnavailable: 2}}"}},
		{"spec/revisionHistoryLimit", []string{"0", "1"}},
		{"spec/volumeClaimTemplates", []string{"[{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]"}},
		{"spec/persistentVolumeClaimRetentionPolicy", []string{"{whenScaled: Delete}", "{whenDeleted: Delete}", "{whenScaled: Delete, whenDeleted: Delete}"}},
		{templateNotes + "play~unready", []string{`"yes"`}},
		{templateNotes + "play~starts", []string{"0ms", "4030ms"}},
	},
	"DaemonSet": {
		{"spec/minReadySeconds", []string{"1", "3"}},
		{"spec/updateStrategy", []string{"{type: OnDelete}", "{type: RollingUpdate, rollingUpdate: {maxUnavailable: 2}}", "{type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}", "{type: RollingUpdate, rollingUpdate: {maxUnavailable: 50%}}"}},
		{"spec/revisionHistoryLimit", []string{"0", "1"}},
		{"spec/template/spec/nodeSelector", []string{`{even: "true"}`}},
		{"spec/template/spec/tolerations", []string{"[{key: t, operator: Exists}]"}},
		{templateNotes + "play~unready", []string{`"yes"`}},
		{templateNotes + "play~starts", []string{"0ms", "4030ms"}},
		{templateNotes + "play~ends", []string{"2070ms"}},
		{templateNotes + "play~code", []string{`"1"`}},
	},
	"Job": jobSettings("spec/"),
	"CronJob": append(jobSettings("spec/jobTemplate/spec/"),
		choice{"spec/schedule", []string{`"*/2 * * * *"`, `"@every 30s"`, `"1 0 * * *"`}},
		choice{"spec/concurrencyPolicy", []string{"Forbid", "Replace"}},
		choice{"spec/suspend", []string{"true"}},
		choice{"spec/startingDeadlineSeconds", []string{"10", "100"}},
		choice{"spec/successfulJobsHistoryLimit", []string{"0", "1"}},
		choice{"spec/failedJobsHistoryLimit", []string{"0", "2"}},
		choice{"spec/timeZone", []string{"America/New_York", "Asia/Kolkata"}},
		choice{"spec/jobTemplate/spec/template/metadata/annotations/play~ends", []string{"70070ms"}},
	),
}

// jobSettings are the settings of a Job whose spec is at a path.
func jobSettings(spec string) []choice {
	notes := spec + templateNotes[len("spec/"):]
	return []choice{
		{spec + "parallelism", []string{"0", "2", "3"}},
		{spec + "completions", []string{"1", "2", "4"}},
		{spec + "backoffLimit", []string{"0", "1", "2"}},
		{spec + "completionMode", []string{"Indexed"}},
		{spec + "suspend", []string{"true"}},
		{spec + "ttlSecondsAfterFinished", []string{"1", "5"}},
		{spec + "backoffLimitPerIndex", []string{"0", "1"}},
		{spec + "maxFailedIndexes", []string{"0", "1"}},
		{spec + "successPolicy", []string{`{rules: [{succeededIndexes: "0"}]}`, "{rules: [{succeededCount: 1}]}", `{rules: [{succeededIndexes: "0-1", succeededCount: 1}]}`}},
		{spec + "podFailurePolicy", []string{
			"{rules: [{action: FailJob, onExitCodes: {operator: In, values: [1]}}]}",
			"{rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}",
			"{rules: [{action: Count, onExitCodes: {operator: In, values: [2]}}, {action: FailJob, onPodConditions: [{type: DisruptionTarget}]}]}",
			"{rules: [{action: Ignore, onExitCodes: {operator: NotIn, values: [1]}}]}",
			"{rules: [{action: FailIndex, onExitCodes: {operator: In, values: [1, 3]}}]}",
			"{rules: [{action: FailIndex, onPodConditions: [{type: DisruptionTarget}]}, {action: Ignore, onExitCodes: {operator: In, values: [2]}}]}",
		}},
		{spec + "template/spec/restartPolicy", []string{"OnFailure"}},
		{spec + "activeDeadlineSeconds", []string{"4", "15"}},
		{spec + "podReplacementPolicy", []string{"Failed"}},
		{notes + "play~ends", []string{"0s", "9070ms"}},
		{notes + "play~code", []string{`"1"`, `"2"`}},
		{notes + "play~code-1", []string{`"1"`, `"3"`}},
		{notes + "play~starts", []string{"4030ms"}},
	}
}

// stepsOf are the possible changes of an object of a kind.
var stepsOf = map[string][]func(*rand.Rand) step{
	"ReplicaSet": {
		set("spec/replicas", "0", "1", "3", "4", "7"), set("spec/replicas", "0", "1", "3", "4", "7"), set("spec/minReadySeconds", "0", "2"),
		set("metadata/labels/x", "z"), set(image, images...),
		plain("delete"), plain("orphan"), plain("foreground"), plain("create"), quota,
		pod("pod-gone"), pod("pod-fails"), pod("pod-unready"), podSet("metadata/labels/app", "b"), podSet("metadata/annotations/controller.kubernetes.io~pod-deletion-cost", `"-5"`, `"7"`),
	},
	"Deployment": {
		set("spec/replicas", "0", "1", "3", "4", "7"), set("spec/replicas", "0", "1", "3", "4", "7"), set("spec/minReadySeconds", "0", "2"),
		set(image, images...), set(image, images...), set(image, images...), set("spec/paused", "true", "null"), set("spec/paused", "null"),
		set("spec/strategy", "{type: Recreate}", "{type: RollingUpdate, rollingUpdate: {maxSurge: 2, maxUnavailable: 1}}"),
		set("spec/revisionHistoryLimit", "0", "1"), set("metadata/annotations/x", "z"), set(templateNotes+"play~unready", `"yes"`, "null"),
		plain("delete"), plain("orphan"), plain("foreground"), plain("create"), quota,
		pod("pod-gone"), pod("pod-fails"), pod("pod-unready"), podSet("metadata/labels/app", "b"),
	},
	"StatefulSet": {
		set("spec/replicas", "0", "1", "2", "4"), set("spec/replicas", "0", "1", "2", "4"), set("spec/minReadySeconds", "0", "2"),
		set(image, images...), set(image, images...), set(image, images...), set("metadata/labels/x", "z"), set(templateNotes+"play~unready", `"yes"`, "null"),
		set("spec/updateStrategy", "{type: OnDelete}", "{type: RollingUpdate, rollingUpdate: {partition: 1}}", "{type: RollingUpdate, rollingUpdate: {partition: 0}}"),
		plain("delete"), plain("orphan"), plain("foreground"), plain("create"), quota,
		pod("pod-gone"), pod("pod-fails"), pod("pod-unready"), podSet("metadata/labels/app", "b"),
	},
	"DaemonSet": {
		set(image, images...), set(image, images...), set(image, images...), set("spec/minReadySeconds", "0", "2"), set(templateNotes+"play~unready", `"yes"`, "null"),
		set("spec/updateStrategy", "{type: OnDelete}", "{type: RollingUpdate, rollingUpdate: {maxUnavailable: 1}}", "{type: RollingUpdate, rollingUpdate: {maxSurge: 2, maxUnavailable: 0}}"),
		set("spec/template/spec/nodeSelector", `{even: "true"}`, "null"),
		plain("delete"), plain("orphan"), plain("foreground"), plain("create"), quota,
		pod("pod-gone"), pod("pod-fails"), pod("pod-unready"), podSet("metadata/labels/app", "b"),
		node("node"), node("node-gone"), nodeSet("metadata/labels/even", `"true"`, `"false"`),
		nodeSet("spec/taints", "[{key: t, effect: NoSchedule}]", "[{key: t, effect: NoExecute}]", "null"), nodeSet("spec/unschedulable", "true", "null"),
	},
	"Job": {
		set("spec/suspend", "true", "false"), set("spec/suspend", "true", "false"), set("spec/parallelism", "0", "1", "3"), set("spec/activeDeadlineSeconds", "6", "30"),
		set("spec/ttlSecondsAfterFinished", "3"), plain("delete"), plain("foreground"), plain("orphan"), plain("create"), quota,
		pod("pod-gone"), pod("pod-gone"), pod("pod-fails"), pod("pod-fails"), pod("pod-unready"), disrupted,
	},
	"CronJob": {
		set("spec/suspend", "true", "false"), set("spec/schedule", `"* * * * *"`, `"*/2 * * * *"`, `"@every 20s"`), set("spec/concurrencyPolicy", "Allow", "Forbid", "Replace"),
		plain("delete"), plain("foreground"), plain("create"), quota, pod("pod-gone"), pod("pod-fails"), wait, wait, wait,
	},
}

// disrupted has a Pod fail by a disruption.
func disrupted(r *rand.Rand) step {
	return step{do: "pod-fails", n: r.IntN(8), setting: setting{value: "disrupted"}}
}

// quota sets or removes a limit of the number of Pods.
func quota(r *rand.Rand) step { return step{do: "quota", n: []int{0, 1, 2, 4, -1}[r.IntN(5)]} }

// wait lets a minute pass.
func wait(r *rand.Rand) step { return step{do: "wait", n: 40 + r.IntN(40)} }

func node(do string) func(*rand.Rand) step {
	return func(r *rand.Rand) step { return step{do: do, n: r.IntN(5)} }
}

func nodeSet(path string, values ...string) func(*rand.Rand) step {
	return func(r *rand.Rand) step {
		return step{do: "node-set", n: r.IntN(4), setting: choice{path, values}.draw(r)}
	}
}
