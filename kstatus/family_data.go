package kstatus

import "github.com/stagecraft-go/stagecraft/internal/object"

// Databases, queues and storage.
var data = catalogue{
	"*.kafka.strimzi.io": strimzi,
	"*.core.strimzi.io":  strimzi,
	"KafkaConnector.kafka.strimzi.io": either(strimzi, vocabulary{
		failed: "FAILED", suspended: "PAUSED, STOPPED",
	}.says("status", "connectorStatus", "connector", "state")),
	"KafkaRebalance.kafka.strimzi.io": either(strimzi, when("PendingProposal", "True", InProgress), pausedBy("ProposalReady"),
		when("Rebalancing", "True", InProgress), pausedBy("Stopped"), when("NotReady", "True", Failed)),
	"KafkaCluster.kafka.banzaicloud.io": banzaiKafka,
	"Connector.platform.confluent.io":   vocabulary{failed: "FAILED", suspended: "PAUSED", inProgress: "UNASSIGNED"}.says("status", "connectorState"),
	"RabbitmqCluster.rabbitmq.com":      either(falseFails("ReconcileSuccess"), needs("AllReplicasReady", "ClusterAvailable", "ReconcileSuccess"), signs),
	"*.rabbitmq.com":                    readyOrFailed,

	"Cluster.postgresql.cnpg.io": either(annotated("cnpg.io/hibernation", "on"), cnpgCluster),
	"Backup.postgresql.cnpg.io": vocabulary{
		inProgress: "new, pending, started, running, finalizing", current: "completed", fatal: "failed", failed: "walArchivingFailing", empty: InProgress,
	}.says("status", "phase"),
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
	"CephCluster.ceph.rook.io":          vocabulary{failed: "HEALTH_ERR, HEALTH_WARN"}.says("status", "ceph", "health"),
	"Cluster.cassandra.rook.io":         cassandraRacks,
	"Tenant.minio.min.io":               minioTenant,
	"ClickHouseInstallation.clickhouse.altinity.com": vocabulary{
		inProgress: "InProgress, Terminating", current: "Completed", failed: "Aborted", empty: InProgress,
	}.says("status", "status"),

	"Backup,Restore.velero.io": vocabulary{
		inProgress: "New, Queued, ReadyToStart, InProgress, WaitingForPluginOperations, WaitingForPluginOperationsPartiallyFailed, " +
			"Finalizing, FinalizingPartiallyFailed, Deleting",
		current: "Completed", fatal: "Failed, PartiallyFailed, FailedValidation", empty: InProgress,
	}.says("status", "phase"),
	"Volume.longhorn.io": vocabulary{
		inProgress: "creating, attaching, detaching, deleting", current: "attached, detached", empty: InProgress,
	}.says("status", "state"),
	"Schedule.astra.netapp.io": exists, // it is in force as soon as it exists
}

var (
	strimziPaused = either(annotated("strimzi.io/pause-reconciliation", "true"), pausedBy("ReconciliationPaused"))

	perconaState = vocabulary{
		inProgress: "initializing, stopping, unknown", current: "ready", suspended: "paused", failed: "error",
	}.says("status", "state")

	elasticHealth = either(
		vocabulary{failed: "Stalled", fatal: "Invalid"}.says("status", "phase"),
		vocabulary{inProgress: "yellow, unknown", current: "green", failed: "red", empty: InProgress}.says("status", "health"),
	)

	// The phases of CloudNativePG are sentences.
	cnpgCluster = vocabulary{
		current:   "Cluster in healthy state",
		suspended: "Waiting for user action, Cluster upgrade delayed",
		failed: "Unable to create required cluster objects, Cluster is unrecoverable and needs manual intervention, Not enough disk space, " +
			"Cluster cannot execute instance online upgrade due to missing architecture binary, Cluster has incomplete or invalid image catalog, " +
			"Cluster cannot proceed to reconciliation due to an unknown plugin being required",
		inProgress: "Setting up primary, Creating a new replica, Waiting for the instances to become active, Failing over, Switchover in progress, " +
			"Upgrading cluster, Upgrading Postgres major version, Online upgrade in progress, Primary instance is being restarted in-place, " +
			"Primary instance is being restarted without a switchover, Applying configuration, Inplace primary restart, Promoting to primary cluster",
		empty: InProgress,
	}.says("status", "phase")

	// MinIO's states are sentences too.
	minioTenant = vocabulary{
		current: "Initialized",
		fatal: "Another MinIO Tenant already exists in the namespace, Tenant credentials are not set properly, Statefulset not controlled by operator, " +
			"Different versions across MinIO Pools, Pool Decommissioning Not Allowed",
		empty: InProgress,
	}.says("status", "currentState")
)

func strimzi(o Object) (Result, bool) { return strimziPaused(o) }

// banzaiKafka looks at the brokers: the state of the cluster does not tell that their configuration is not in force.
func banzaiKafka(o Object) (Result, bool) {
	brokers := o.Map("status", "brokersState")
	for _, v := range brokers {
		if state, _ := object.ToMap(v); state["configurationState"] == "ConfigOutOfSync" {
			return InProgress.Because("ConfigOutOfSync", "The configuration of brokers is out of sync").At("status.brokersState"), true
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
		return progress("LessReady", counted("Ready: %d/%d", ready, members), "status.racks")
	}
	return Current.saying(counted("Ready: %d/%d", ready, members)).At("status.racks"), true
}
