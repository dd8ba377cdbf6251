# What .ci/run does not do for you: `make help`.

GO ?= go
MODULES := $(shell find . -name go.mod -not -path './go.mod' -exec dirname {} \;)
CORPUS ?= ../shared/conformance
FUZZTIME ?= 30s
FUZZ ?= Fuzz
ROUNDS ?= 3
PODS ?= 1000000
HISTORIES ?= 1000000
SCENARIOS ?= 200
SEED ?= 1
MEMORY ?= 11GiB
DURATION ?= 30m
DIR ?= proxy
SUITES ?= controller-runtime jobset lws karpenter cluster-api kueue

.PHONY: specs restored page site apiserver-figures binaries conformance-apps conformance-e2e controllers-e2e programs demo help test check conformance golden pictures fuzz bench cores coverage replicas peers cluster-peers cluster-soak level instructions instructions-update soak server-soak hunt hunt-managers hunt-operators hunt-kubernetes oracle oracle-autoscaling oracle-defaults oracle-kubelet oracle-nodes oracle-policies oracle-scheduler oracle-staged histories player-histories mutants former-engine hostile e2e recordings suites tidy matrix release develop api proxy metering race growth clients

help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## / { printf "%-19s %s\n", $$1, $$2 }' Makefile

test: ## the tests of the core and of the lab
	$(GO) run ./internal/dev/test

demo: ## the presets on a real control plane, built first if need be; CLUSTER=FILE: on that of a kubeconfig
	cd examples/cluster && $(GO) run . $(if $(CLUSTER),-kubeconfig $(abspath $(CLUSTER)))

check: ## what CI runs
	bash .ci/run

conformance: ## the recorded cases, with diffs
	$(GO) run ./internal/dev/conformance -v $(CORPUS)

golden: ## rewrite recorded expectations
	@for p in ./stage ./stage/presets ./examples/quickstart ./kstatus ./stage/explore ./stage/diagram; do $(GO) test $$p -update || exit 1; done

clients: ## the clients of other languages against stagecraft serve; the ones that are not installed are skipped
	cd examples/stagecraft && STAGECRAFT_CLIENTS=1 $(GO) test -run 'TestPython|TestRuby|TestTypeScript|TestCurl' -v .

binaries: ## the command stagecraft for all systems, checksums and the image, into examples/stagecraft/packaging/dist; VERSION
	cd examples/stagecraft/packaging && $(GO) run . -out dist -version "$(or $(VERSION),(devel))"
	cd examples/stagecraft/packaging && PACKAGING_SOURCE=.. $(GO) test -count 1 .

page: ## the page to play with as one HTML file, examples/stagecraft/packaging/page/dist/index.html, and its test in chromium
	cd examples/stagecraft/packaging/page && mkdir -p dist && $(GO) run . >dist/new.html && mv dist/new.html dist/index.html && $(GO) test -count 1 -v .

site: ## the documentation as a static site, with the page to play with if make page has built it, into examples/stagecraft/packaging/site/dist
	cd examples/stagecraft/packaging/site && rm -rf dist && $(GO) run . -out dist $(if $(wildcard examples/stagecraft/packaging/page/dist/index.html),-play ../page/dist/index.html)

pictures: ## draw the lifecycles of the presets again
	cd examples/stagecraft && $(GO) test -run TestPictures . -update

fuzz: ## each fuzz target for FUZZTIME (30s); FUZZ=FuzzExplainSet FUZZTIME=10m: one for longer
	@for m in . stage/lab; do for p in $$(cd $$m && $(GO) list ./...); do for f in $$(cd $$m && $(GO) test -list '^$(FUZZ)' $$p | grep '^Fuzz'); do \
		echo "== $$p $$f"; (cd $$m && $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p) || exit 1; done; done; done

metering: ## search for DURATION (30m) each for the most work for a charge in jq, CEL and templates; what is found goes into testdata/worst.txt
	for p in ./internal/jq ./internal/expression ./render; do nice -n 15 env GOMAXPROCS=1 $(GO) test $$p -run TestWorstFound -timeout 0 -v -search $(DURATION) -seed $(SEED) || exit 1; done

race: ## the concurrent packages of the core with the race detector, on 1, 2 and 8 processors
	for n in 1 2 8; do GOMAXPROCS=$$n $(GO) test -race -count 1 -timeout 40m ./stage/player ./kstatus/wait ./stage/memory ./internal/listwatch ./staged/player || exit 1; \
		(cd stage/kube && GOMAXPROCS=$$n $(GO) test -race -count 1 -timeout 40m ./shard ./nodes) || exit 1; done

hostile: ## the hostile corpus against a lab behind the server, with longer floods; nobody waits longer than ten times the idle time
	cd stage/lab && STAGECRAFT_ALL=1 HOSTILE_TIMES=1 HOSTILE_VERBOSE=1 $(GO) test ./internal/hostile -run TestHostileCorpus -v -timeout 1h

bench: ## the benchmarks of the core and of the lab
	$(GO) test -run '^$$' -bench . -benchmem ./... && cd stage/lab && $(GO) test -run '^$$' -bench . -benchmem ./...

peers: ## side by side with kwok and with cli-utils: ratios
	cd internal/dev/bench && $(GO) run ./ratio && $(GO) run ./kstatus/ratio

level: ## the statements that an object costs, per those where there are a quarter as many, for all works of BenchmarkGrowth and for a rollover of one Deployment of 10,000 beside 1,000 of 10; fails beyond 1.3
	cd stage/lab && $(GO) test -c -covermode count -coverpkg ./...,github.com/stagecraft-go/stagecraft/...,slices,sort -o /tmp/level.test ./controllers
	cd stage/lab/controllers && /tmp/level.test -test.run 'StatementsAreLevel' -test.v
	cd stage/lab/controllers && for b in OneDeployment/10000 RollOver; do /tmp/level.test -test.run '^$$' -test.bench "$$b" -test.benchtime 1x -test.coverprofile /tmp/level.$${b%%/*} >/dev/null || exit 1; done
	awk 'FNR > 1 {n[FILENAME] += $$2*$$3} END {r = n[ARGV[1]]/n[ARGV[2]]; print r; exit r > 1.3}' /tmp/level.OneDeployment /tmp/level.RollOver

growth: ## the time of the processor for an object of each kind of work at SIZES (1000, 4000 and 16000) objects; twenty minutes
	cd stage/lab && $(GO) test ./controllers -run '^$$' -bench '^BenchmarkGrowth$$/.*/^($(or $(SIZES),1000|4000|16000))$$' -benchtime 1x -timeout 0

instructions: ## count the instructions of fixed workloads (valgrind); fails beyond 5 % more than recorded
	$(GO) run ./internal/dev/instructions

instructions-update: ## record them
	$(GO) run ./internal/dev/instructions -update

cluster-peers: ## side by side with kwok and the floor on a real kube-apiserver (half an hour)
	cd internal/dev/e2e/cluster && STAGECRAFT_E2E=1 $(GO) run . -rounds $(ROUNDS)

cluster-soak: ## pods come and go on a real kube-apiserver for DURATION; fails if the player grows
	cd internal/dev/e2e/cluster && STAGECRAFT_E2E=1 $(GO) run ./soak -duration $(DURATION)

soak: ## the whole lives of PODS (a million) in virtual time, on one core, within MEMORY (11GiB)
	GOGC=off GOMEMLIMIT=$(MEMORY) $(GO) test -run TestSoak -timeout 60m -v ./stage -soak $(PODS)

server-soak: ## PODS (100000) come, run and go over HTTP on stage/lab/apiserver with a lab; memory must stay as it is (half an hour)
	cd stage/lab && $(GO) test ./apiserver -run TestPodsThatComeAndGo -timeout 2h -v -soak $(if $(filter file,$(origin PODS)),100000,$(PODS))

oracle: ## SCENARIOS (200) random lives of workloads with the controllers of Kubernetes and with ours, from SEED (1) on
	cd stage/lab/internal/oracle && $(GO) test ./workloads -run TestScenarios -timeout 0 -v -scenarios $(SCENARIOS) -seed $(SEED)

hunt: ## RUNS (2000) runs of each correct controller, which must find nothing, and the table of mutants
	cd stage/lab && $(GO) test ./hunt -run 'TestMutants|TestCorrect' -timeout 0 -v -twin-runs $(or $(RUNS),2000)

hunt-managers: ## whole managers with a bug over the API server in memory, which must be found, and their correct twins
	cd stage/lab && $(GO) test ./apiserver/hunting -v -timeout 10m -managers

hunt-operators: ## public operators at versions that have a known bug, which must be found, and with the fix; a first build takes minutes
	stage/lab/internal/hunts/operators

hunt-kubernetes: ## controllers of kube-controller-manager, unchanged, with the staleness gates off and on, RUNS (70) runs each: the bug 129795 must be found (five minutes, a first build more)
	cd stage/lab/internal/oracle && $(GO) test ./hunted -v -timeout 1h -kubernetes -runs $(or $(RUNS),70)

programs: ## unchanged programs of others against the server: the cluster-operator of RabbitMQ, the recommender of VerticalPodAutoscalers; a first build takes minutes
	cd stage/lab && STAGECRAFT_PROGRAMS=1 $(GO) test ./internal/harnesses -run "TestRabbitMQ|TestVPARecommender" -v -timeout 30m

oracle-defaults: ## OBJECTS (2000) random objects of each kind, filled in by Kubernetes and by ours
	cd stage/lab/internal/oracle && $(GO) test ./defaults -timeout 0 -v -objects $(or $(OBJECTS),2000)

oracle-nodes: ## the same with random failures of Nodes
	cd stage/lab/internal/oracle && $(GO) test . -run TestScenarios -timeout 0 -v -scenarios $(SCENARIOS) -seed $(SEED)

oracle-autoscaling: ## SCENARIOS (200) random loads with the HorizontalPodAutoscaler controller of Kubernetes and with ours, from SEED (1) on
	cd stage/lab/internal/oracle && $(GO) test ./autoscaling -timeout 0 -v -scenarios $(SCENARIOS) -seed $(SEED)

oracle-kubelet: ## SCENARIOS (200) random Pods with the container runtime manager of the kubelet and with ours, from SEED (1) on
	cd stage/lab/internal/oracle && $(GO) test ./kubelet -timeout 0 -v -scenarios $(SCENARIOS) -seed $(SEED)

oracle-policies: ## SCENARIOS (200) random lives of budgets, of quotas, of protected claims and volumes, and of terminated and orphaned Pods, from SEED (1) on
	cd stage/lab/internal/oracle && $(GO) test ./policies -run TestScenarios -timeout 0 -v -scenarios $(SCENARIOS) -seed $(SEED)

oracle-scheduler: ## SCENARIOS (200) random clusters with kube-scheduler and with ours, from SEED (1) on
	cd stage/lab/internal/oracle && $(GO) test ./scheduler -run TestSameDecisions -v -timeout 0 -scenarios $(SCENARIOS) -seed $(SEED)

restored: ## STATES (20) states of a real control plane, restored in a lab; the next ten minutes of both (a quarter of an hour)
	cd internal/dev/e2e && STAGECRAFT_E2E=1 $(GO) test -vet=off -count 1 -timeout 1h -run '^TestRestoredBesideTheRealOne$$' -v . -restored-states $(or $(STATES),20) -restored-for 10m

conformance-apps: ## Kubernetes' conformance tests of sig-apps on its own control plane, with stage/lab/controllers/kubelet (builds e2e.test: 8 minutes, once)
	cd internal/dev/e2e/conformance && STAGECRAFT_E2E=1 $(GO) run . -sig apps

SIGS = apps scheduling cli auth instrumentation architecture api-machinery
conformance-e2e: ## Kubernetes' conformance tests of SIGS on the server in memory
	cd internal/dev/e2e/conformance && for sig in $(SIGS); do STAGECRAFT_E2E=1 $(GO) run . -memory -sig $$sig || exit; done

specs: ## specs of Kubernetes beyond its conformance tests, drawn by seed before their first run, on its own control plane and in memory (at most two hours)
	cd internal/dev/e2e/conformance && STAGECRAFT_E2E=1 $(GO) run . -specs && STAGECRAFT_E2E=1 $(GO) run . -specs -memory

suites: ## integration tests of others, SUITES, on etcd and kube-apiserver and on stage/lab/apiserver (two hours)
	cd internal/dev/e2e/suites && for suite in $(SUITES); do STAGECRAFT_E2E=1 $(GO) run . -suite $$suite || exit; done

controllers-e2e: ## kube-controller-manager and kube-scheduler on stage/lab/apiserver for DURATION (5m), our controllers off
	cd internal/dev/e2e && STAGECRAFT_E2E=1 $(GO) test -run TestControllersOfKubernetes -timeout 0 -v . -rollouts $(if $(filter file,$(origin DURATION)),5m,$(DURATION))

apiserver-figures: ## stage/lab/apiserver beside etcd and kube-apiserver: start, CPU per request, watchers, memory, a manager (ten minutes)
	cd internal/dev/e2e && STAGECRAFT_E2E=1 $(GO) test -run 'TestStartFigures|TestManagerFigures' -v . -figures
	cd internal/dev/e2e/figures && STAGECRAFT_E2E=1 $(GO) run .

histories: ## HISTORIES (a million) random histories of staged rollouts of each transport from seed SEED (0): what really happens against the invariants; OVER=K1 plays one transport
	$(GO) test -run '^TestHistories$$' -timeout 0 -v ./staged/player -histories $(HISTORIES) -history $(or $(SEED),0) -over '$(OVER)'

player-histories: ## HISTORIES (a million) random histories of the player over stage/memory, and a hundredth as many over HTTP and client-go, from seed SEED (0): three hours and one hour of a processor
	GOGC=400 $(GO) test -run '^TestHistories$$' -timeout 0 ./internal/dev/histories -histories $(HISTORIES) -from $(or $(SEED),0)
	cd internal/dev/e2e && GOGC=400 $(GO) test -run '^TestHistories$$' -timeout 0 ./histories -histories $$(($(HISTORIES) / 100)) -from $(or $(SEED),0)

mutants: ## engines of staged rollouts with one rule less each: which of them HISTORIES (300) histories of each transport find, those of F2 also with delivery and report in one step
	$(GO) test -run '^TestMutants$$' -timeout 0 -v ./staged/player -mutants $(if $(filter file,$(origin HISTORIES)),300,$(HISTORIES))

former-engine: ## FORMER (1000) random histories of staged rollouts with the engine from before revisions, which is read from the history of the repository: the model must catch it
	$(GO) test -run '^TestFormerEngine$$' -timeout 0 -v ./staged/player -former $(or $(FORMER),1000)

oracle-staged: ## HISTORIES (120000) random histories of staged rollouts by an oracle from elsewhere: Binding, delivery, report and combination apart
	N=$(if $(filter file,$(origin HISTORIES)),120000,$(HISTORIES)) $(GO) test -run '^TestSim$$' -timeout 0 -v ./staged/internal/oracle

replicas: ## N Pods of one ReplicaSet on a real control plane, with and without its rate limit, measured and simulated (five minutes)
	cd internal/dev/e2e/replicas && STAGECRAFT_E2E=1 $(GO) run .

cores: ## what a second core gives a sweep; the machine must have two that nobody else uses
	cd examples/simulator && $(GO) test -run TestTwoCores -v . -cores

coverage: ## how many of 1,000 small sweeps have intervals that contain the known answers of queues
	cd examples/simulator && $(GO) run . -study coverage

e2e: ## on a real kube-apiserver, built first if need be
	cd internal/dev/e2e && STAGECRAFT_E2E=1 $(GO) test . -replay

recordings: ## write anew what the real controllers write
	cd internal/dev/e2e && STAGECRAFT_E2E=1 $(GO) test -run TestRecordings -record .

tidy: ## go mod tidy everywhere
	$(GO) mod tidy && for m in $(MODULES); do (cd $$m && $(GO) mod tidy) || exit 1; done

matrix: ## the tests of published modules with each supported Kubernetes, and of the root with the newest Go
	bash .ci/matrix

release: ## set the versions CORE and, if given, LAB in the go.mod files and print the tags to make; see CONTRIBUTING.md
	cd internal/dev/release && $(GO) run . -core $(CORE) $(if $(LAB),-lab $(LAB))

develop: ## undo release: our modules require each other by path again
	cd internal/dev/release && $(GO) run . -dev

api: ## after a release: record the API of the core, which later changes are compared with
	cd internal/dev/release && $(GO) run . -api

proxy: ## pack the published modules as CORE and LAB into DIR (proxy), for GOPROXY=file://DIR
	cd internal/dev/release && $(GO) run . -core $(CORE) $(if $(LAB),-lab $(LAB)) -proxy $(abspath $(DIR))
