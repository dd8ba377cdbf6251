package validation

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
)

// the checks of the parts of a Pod
var (
	taintEffect = oneOf("NoSchedule", "PreferNoSchedule", "NoExecute")
	protocol    = oneOf("SCTP", "TCP", "UDP")
	actionPort  = rules{of("port", port)}
	httpGet     = rules{of("port", port), given("scheme", oneOf("HTTP", "HTTPS")), given("httpHeaders", each(rules{of("name", header)}))}
	grpc        = rules{given("port", portNumber)}
	execute     = rules{of("command", required)}
	handler     = rules{of("", oneHandler("exec", "grpc", "httpGet", "tcpSocket")), given("httpGet", in(httpGet)), given("tcpSocket", in(actionPort)), given("grpc", in(grpc)), given("exec", in(execute))}
	hook        = rules{of("", oneHandler("exec", "httpGet", "sleep", "tcpSocket")), given("httpGet", in(httpGet)), given("tcpSocket", in(actionPort)), given("exec", in(execute))}
	probe       = slices.Concat(handler, rules{
		given("initialDelaySeconds", notNegative), given("timeoutSeconds", notNegative), given("periodSeconds", notNegative), given("successThreshold", notNegative),
		given("failureThreshold", notNegative), given("terminationGracePeriodSeconds", positive),
	})
	oneSuccess = rules{given("successThreshold", between(1, 1, "must be 1"))}
	envVar     = rules{of("name", required, form(validation.IsRelaxedEnvVarName)), given("valueFrom", in(envSource))}
	envSource  = rules{
		of("", oneSource),
		given("fieldRef", in(fieldRef)), given("resourceFieldRef", in(resourceRef)),
		given("configMapKeyRef", in(keyRef)), given("secretKeyRef", in(keyRef)),
	}
	keyRef      = rules{of("name", hostName), of("key", required, configKey)}
	nameRef     = rules{of("name", required, subdomain)}
	fieldRef    = rules{of("fieldPath", required, fieldPath)}
	resourceRef = rules{of("resource", required, oneOf("limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"))}
	envFrom     = rules{of("", oneEnvSource), given("configMapRef", in(nameRef)), given("secretRef", in(nameRef))}
	resources   = rules{given("limits", quantities(atLeastZero)), given("requests", quantities(atLeastZero), requestsWithinLimits)}
	mount       = rules{of("name", required), of("mountPath", required)}
	container   = rules{
		of("name", required, label), of("image", required),
		given("imagePullPolicy", oneOf("Always", "IfNotPresent", "Never")), given("restartPolicy", mustBe("Always", "Never", "OnFailure")),
		given("terminationMessagePolicy", oneOf("File", "FallbackToLogsOnError")),
		given("ports", each(rules{given("name", portName), of("containerPort", requiredPort), given("hostPort", hostPort), given("protocol", protocol)}), unique("name")),
		given("env", each(envVar)), given("envFrom", each(envFrom)),
		given("resources", in(resources)),
		given("volumeMounts", each(mount), uniqueMounts),
		given("readinessProbe", in(probe)), given("livenessProbe", in(probe), in(oneSuccess)), given("startupProbe", in(probe), in(oneSuccess)),
		given("lifecycle", in(rules{given("postStart", in(hook)), given("preStop", in(hook))})),
		given("securityContext", in(rules{given("runAsUser", idOfUser), given("runAsGroup", idOfUser)})),
	}
	nodeTerm = rules{given("matchExpressions", each(requirement))}
	// a requirement on labels of Nodes
	requirement   = rules{of("key", nonEmptyQualified), of("operator", nodeOperator)}
	affinityTerm  = rules{of("topologyKey", requiredFor("can not be empty"), nonEmptyQualified), given("labelSelector", selector), given("namespaceSelector", selector)}
	weighted      = between(1, 100, "must be in the range 1-100")
	requiredTerms = requiredFor("must have at least one node selector term")
	podAffinity   = rules{
		given("requiredDuringSchedulingIgnoredDuringExecution", each(affinityTerm)),
		given("preferredDuringSchedulingIgnoredDuringExecution", each(rules{given("weight", weighted), of("podAffinityTerm", always(affinityTerm))})),
	}
	nodeSelector = rules{of("nodeSelectorTerms", requiredTerms, each(nodeTerm))}
	affinity     = rules{
		given("nodeAffinity", in(rules{
			given("requiredDuringSchedulingIgnoredDuringExecution", in(nodeSelector)),
			given("preferredDuringSchedulingIgnoredDuringExecution", each(rules{given("weight", weighted), given("preference", in(nodeTerm))})),
		})),
		given("podAffinity", in(podAffinity)), given("podAntiAffinity", in(podAffinity)),
	}
	toleration = rules{
		given("key", qualified), of("", effectOfSeconds), given("effect", taintEffect), given("operator", oneOf("Equal", "Exists")), of("", keyOfOperator),
	}
	spread = rules{
		given("maxSkew", aboveZero), of("topologyKey", requiredFor("can not be empty")),
		of("whenUnsatisfiable", mustBe("DoNotSchedule", "ScheduleAnyway")), given("labelSelector", selector), given("minDomains", aboveZero),
	}
	seccomp = rules{of("type", requiredFor("type is required when seccompProfile is set"), oneOf("Localhost", "RuntimeDefault", "Unconfined"))}
)

// podSpec are the checks of Pods and of Pod templates.
var podSpec = rules{
	given("volumes", each(volume), unique("name")),
	of("containers", required, each(container)),
	given("initContainers", each(container), elements(onlySidecars("startupProbe", "readinessProbe", "livenessProbe", "lifecycle"))),
	of("", mountsOfVolumes), of("", uniqueContainers), of("", uniqueHostPorts), of("", portsOfHost),
	given("restartPolicy", oneOf("Always", "OnFailure", "Never")),
	given("dnsPolicy", oneOf("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")),
	given("activeDeadlineSeconds", lifeInSecond), given("preemptionPolicy", required, oneOf("PreemptLowerPriority", "Never")),
	given("nodeSelector", labels), given("nodeName", subdomain), given("serviceAccountName", subdomain), given("priorityClassName", subdomain), given("runtimeClassName", subdomain),
	given("hostname", label), given("subdomain", label),
	given("affinity", in(affinity)), given("tolerations", each(toleration)), given("topologySpreadConstraints", each(spread), uniqueSpreads),
	given("readinessGates", each(rules{of("conditionType", nonEmptyQualified)})),
	given("schedulingGates", schedulingGates),
	given("hostAliases", each(rules{of("ip", address), given("hostnames", elements(hostName))})),
	given("dnsConfig", in(rules{given("nameservers", elements(address)), given("options", each(rules{of("", dnsOption)}))})),
	given("os", in(rules{of("name", required)}), osName),
	given("securityContext", in(rules{
		given("runAsUser", idOfUser), given("runAsGroup", idOfUser), given("fsGroup", idOfUser), given("seccompProfile", in(seccomp)),
		given("sysctls", each(rules{of("name", required, sysctl)}), unique("name")),
	})),
}
