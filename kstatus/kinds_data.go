package kstatus

import "github.com/stagecraft-go/stagecraft/internal/object"

// data has the rules for databases, queues and storage.
var data = kindTable{
	"*.kafka.strimzi.io": strimzi,
	"*.core.strimzi.io":  strimzi,
	"KafkaConnector.kafka.strimzi.io": either(strimzi, phaseTable{
		failed:    "FAILED",
		suspended: "PAUSED, STOPPED",
	}.at("status", "connectorStatus", "connector", "state")),
	"KafkaRebalance.kafka.strimzi.io": either(
		strimzi,
		when("PendingProposal", "True", InProgress),
		pausedBy("ProposalReady"),
		when("Rebalancing", "True", InProgress),
		pausedBy("Stopped"),
		when("NotReady", "True", Failed),
	),
	"KafkaCluster.kafka.banzaicloud.io": banzaiKafka,
	"Connector.platform.confluent.io": either(phaseTable{
		failed:     "FAILED",
		suspended:  "PAUSED",
		inProgress: "UNASSIGNED",
	}.at("status", "connectorState"), connectorTasks),
	"RabbitmqCluster.rabbitmq.com": either(
		falseFails("ReconcileSuccess"),
		needs("AllReplicasReady", "ClusterAvailable", "ReconcileSuccess"),
		statusFields,
	),
	"*.rabbitmq.com": readyOrFailed,

	"Cluster.postgresql.cnpg.io": either(annotated("cnpg.io/hibernation", "on"), cnpgCluster),
	"Backup.postgresql.cnpg.io": phaseTable{
		inProgress: "new, pending, started, running, finalizing",
		current:    "completed",
		fatal:      "failed",
		failed:     "walArchivingFailing",
		empty:      InProgress,
	}.at("status", "phase"),
	"ScheduledBackup,ImageCatalog,ClusterImageCatalog,Pooler.postgresql.cnpg.io": exists,
	"*.psmdb.percona.com":                        perconaState,
	"*.pxc.percona.com":                          perconaState,
	"*.ps.percona.com":                           perconaState,
	"Elasticsearch.elasticsearch.k8s.elastic.co": either(elasticPhase, elasticNodes, elasticHealth),
	"Kibana,Beat,Agent,ApmServer,EnterpriseSearch,Logstash.elasticsearch.k8s.elastic.co": elasticHealth,
	"*.beat.k8s.elastic.co":             elasticHealth,
	"*.kibana.k8s.elastic.co":           elasticHealth,
	"*.agent.k8s.elastic.co":            elasticHealth,
	"*.apm.k8s.elastic.co":              elasticHealth,
	"*.logstash.k8s.elastic.co":         elasticHealth,
	"*.enterprisesearch.k8s.elastic.co": elasticHealth,
	"*.maps.k8s.elastic.co":             elasticHealth,
	"CephCluster.ceph.rook.io": phaseTable{
		failed: "HEALTH_ERR, HEALTH_WARN",
	}.at("status", "ceph", "health"),
	"Cluster.cassandra.rook.io": cassandraRacks,
	"Tenant.minio.min.io":       minioTenant,
	"ClickHouseInstallation.clickhouse.altinity.com": phaseTable{
		inProgress: "InProgress, Terminating",
		current:    "Completed",
		failed:     "Aborted",
		empty:      InProgress,
	}.at("status", "status"),

	"Backup,Restore.velero.io": phaseTable{
		inProgress: "New, Queued, ReadyToStart, InProgress, WaitingForPluginOperations, " +
			"WaitingForPluginOperationsPartiallyFailed, Finalizing, " +
			"FinalizingPartiallyFailed, Deleting",
		current: "Completed",
		fatal:   "Failed, PartiallyFailed, FailedValidation",
		empty:   InProgress,
	}.at("status", "phase"),
	"Volume.longhorn.io": phaseTable{
		inProgress: "creating, attaching, detaching, deleting",
		current:    "attached, detached",
		empty:      InProgress,
	}.at("status", "state"),
	"Schedule.astra.netapp.io": exists,
}

var (
	strimziPaused = either(annotated("strimzi.io/pause-reconciliation", "true"), pausedBy("ReconciliationPaused"))

	perconaState = phaseTable{
		inProgress: "initializing, stopping, unknown",
		current:    "ready",
		suspended:  "paused",
		failed:     "error",
	}.at("status", "state")

	// The phases are those of cloud-on-k8s/v3, pkg/apis/elasticsearch/v1/status.go.
	elasticPhase = phaseTable{
		inProgress: "ApplyingChanges, MigratingData",
		failed:     "Stalled",
		fatal:      "Invalid",
	}.at("status", "phase")

	elasticHealth = either(
		phaseTable{failed: "Stalled", fatal: "Invalid"}.at("status", "phase"),
		phaseTable{
			inProgress: "yellow, unknown",
			current:    "green",
			failed:     "red",
			empty:      InProgress,
		}.at("status", "health"),
	)

	// The phases of CloudNativePG are sentences.
	cnpgCluster = phaseTable{
		current:   "Cluster in healthy state",
		suspended: "Waiting for user action, Cluster upgrade delayed",
		failed: "Unable to create required cluster objects, " +
			"Cluster is unrecoverable and needs manual intervention, " +
			"Not enough disk space, " +
			"Cluster cannot execute instance online upgrade due to missing architecture binary, " +
			"Cluster has incomplete or invalid image catalog, " +
			"Cluster cannot proceed to reconciliation due to an unknown plugin being required",
		inProgress: "Setting up primary, Creating a new replica, " +
			"Waiting for the instances to become active, Failing over, " +
			"Switchover in progress, Upgrading cluster, Upgrading Postgres major version, " +
			"Online upgrade in progress, Primary instance is being restarted in-place, " +
			"Primary instance is being restarted without a switchover, " +
			"Applying configuration, Inplace primary restart, Promoting to primary cluster",
		empty: InProgress,
	}.at("status", "phase")

	// The states of MinIO are sentences too.
	minioTenant = phaseTable{
		current: "Initialized",
		fatal: "Another MinIO Tenant already exists in the namespace, " +
			"Tenant credentials are not set properly, " +
			"Statefulset not controlled by operator, " +
			"Different versions across MinIO Pools, Pool Decommissioning Not Allowed",
		empty: InProgress,
	}.at("status", "currentState")
)

// connectorTasks is Failed once a task has used up its restarts (Confluent for Kubernetes API,
// ConnectorStatus: failedTasks and restartPolicy).
func connectorTasks(o Object) (Result, bool) {
	limit, limited := o.Int("status", "restartPolicy", "maxRetry")
	failed := int64(0)
	for _, v := range o.Map("status", "failedTasks") {
		task, _ := object.ToMap(v)
		if n, ok := integer(task["retryCount"]); ok && limited && n >= limit {
			failed++
		}
	}
	return Failed.because("TasksFailed", withNumbers("%d tasks have failed", failed)).At("status.failedTasks"), failed > 0
}

// elasticNodes compares the available nodes with the sum of the node sets.
func elasticNodes(o Object) (Result, bool) {
	var wanted int64
	for _, item := range o.List("spec", "nodeSets") {
		set, _ := object.ToMap(item)
		n, _ := integer(set["count"])
		wanted += n
	}
	available, reported := o.Int("status", "availableNodes")
	if !reported || available >= wanted {
		return Result{}, false
	}
	return inProgress("LessAvailable", withNumbers("Available: %d/%d", available, wanted), "status.availableNodes"), true
}

func strimzi(o Object) (Result, bool) { return strimziPaused(o) }

// banzaiKafka reads the brokers: the state of the cluster does not say whether their configuration
// is in force.
func banzaiKafka(o Object) (Result, bool) {
	brokers := o.Map("status", "brokersState")
	for _, v := range brokers {
		if state, _ := object.ToMap(v); state["configurationState"] == "ConfigOutOfSync" {
			return inProgress("ConfigOutOfSync", text("The configuration of brokers is out of sync"), "status.brokersState"), true
		}
	}
	return Result{}, false
}

func cassandraRacks(o Object) (Result, bool) {
	racks := o.Map("status", "racks")
	var ready, members int64
	for _, v := range racks {
		rack, _ := object.ToMap(v)
		n, _ := integer(rack["readyMembers"])
		m, _ := integer(rack["members"])
		ready, members = ready+n, members+m
	}
	if len(racks) == 0 || ready < members {
		return inProgress("LessReady", withNumbers("Ready: %d/%d", ready, members), "status.racks"), true
	}
	return Current.because("", withNumbers("Ready: %d/%d", ready, members)).At("status.racks"), true
}
