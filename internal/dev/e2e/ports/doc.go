// Package ports plays staged rollouts over Open Cluster Management and Argo CD on the API server in
// memory, with the definitions that these projects publish: their schemas prune, default and validate
// what the adapters write. The agents are simulated. The definitions are read out of the zip files of
// the modules, which the go command fetches.
package ports
