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
	"Connector.platform.confluent.io": phaseTable{
		failed:     "FAILED",
		suspended:  "PAUSED",
		inProgress: "UNASSIGNED",
	}.at("status", "connectorState"),
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
	"*.psmdb.percona.com": perconaState,
	"*.pxc.percona.com":   perconaState,
	"*.ps.percona.com":    perconaState,
	"Elasticsearch,Kibana,Beat,Agent,ApmServer,EnterpriseSearch,Logstash.elasticsearch.k8s.elastic.co": elasticHealth,
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
