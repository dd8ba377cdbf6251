package main

const newPod = `
apiVersion: v1
kind: Pod
metadata:
  name: web-0
  namespace: default
  labels: {app: web, pod-template-hash: 5d9c}
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: 77ab}]
spec:
  nodeName: node-17
  containers:
  - {name: main, image: "registry.example.com/web:1.4", ports: [{containerPort: 8080}], resources: {requests: {cpu: 100m, memory: 64Mi}}}
  - {name: proxy, image: "registry.example.com/proxy:0.9", args: [--listen, ":9090"]}
`

const pendingPod = newPod + `
status:
  phase: Pending
  hostIP: 10.0.0.1
  podIP: 10.1.0.7
  conditions:
  - {type: Initialized, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}
  - {type: Ready, status: "False", reason: ContainersNotReady, lastTransitionTime: "2026-01-01T00:00:00Z"}
  - {type: ContainersReady, status: "False", reason: ContainersNotReady, lastTransitionTime: "2026-01-01T00:00:00Z"}
  containerStatuses:
  - {name: main, ready: false, started: false, restartCount: 0, image: "registry.example.com/web:1.4", state: {waiting: {reason: ContainerCreating}}}
  - {name: proxy, ready: false, started: false, restartCount: 0, image: "registry.example.com/proxy:0.9", state: {waiting: {reason: ContainerCreating}}}
`

const runningPod = newPod + `
status:
  phase: Running
  hostIP: 10.0.0.1
  podIP: 10.1.0.7
  startTime: "2026-01-01T00:00:00Z"
  conditions:
  - {type: Initialized, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}
  - {type: Ready, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}
  - {type: ContainersReady, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}
  containerStatuses:
  - {name: main, ready: true, started: true, restartCount: 0, image: "registry.example.com/web:1.4", state: {running: {startedAt: "2026-01-01T00:00:00Z"}}}
  - {name: proxy, ready: true, started: true, restartCount: 0, image: "registry.example.com/proxy:0.9", state: {running: {startedAt: "2026-01-01T00:00:00Z"}}}
`

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default, generation: 3}
spec: {replicas: 3, progressDeadlineSeconds: 600}
status:
  observedGeneration: 3
  replicas: 3
  updatedReplicas: 3
  readyReplicas: 3
  availableReplicas: 3
  conditions:
  - {type: Available, status: "True", reason: MinimumReplicasAvailable, message: Deployment has minimum availability.}
  - {type: Progressing, status: "True", reason: NewReplicaSetAvailable, message: ReplicaSet has successfully progressed.}
`

const configMap = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default}
data: {a: b}
`
