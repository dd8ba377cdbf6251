// Package autoscaling has the controller of HorizontalPodAutoscalers. It changes the replicas of a
// workload by the metrics of its Pods, or by other metrics.
//
// # Usage
//
// It is part of controllers.All. Its metrics come from annotations of Pods, see [FromAnnotations],
// or from a function:
//
//	controllers.All(controllers.Options{Autoscaling: autoscaling.Options{
//		Metrics: func(q autoscaling.Query) (values []autoscaling.Value, err error) {
//			for _, pod := range q.Pods {
//				share := resource.NewMilliQuantity(load(q.Now)/int64(len(q.Pods)), resource.DecimalSI)
//				values = append(values, autoscaling.Value{Pod: pod.GetName(), Quantity: *share})
//			}
//			return values, nil
//		},
//	}})
//
// It looks at each autoscaler 15 s after its creation, and then every 15 s. With annotations, it
// leaves out looks that could find nothing new, so that a simulation settles. With a function a
// simulation does not settle, because the function can depend on the time.
//
// # Determinism
//
// It draws no random number. The same metrics at the same times give the same writes.
//
// # Concurrency
//
// The functions are safe for concurrent use. The controller that [HorizontalPodAutoscalers] returns
// keeps state and belongs to one loop.
//
// # Compatibility
//
// Replicas, status, conditions and Events are those of kube-controller-manager 1.36:
// stage/lab/internal/oracle/autoscaling compares both in random scenarios. What differs:
//
//	Kubernetes does                            | this does                           | why
//	-------------------------------------------+-------------------------------------+---------------
//	scale whatever has a subresource scale     | scale Deployments, ReplicaSets,     | the loop watches
//	                                           | StatefulSets, ReplicationControllers| kinds that it
//	                                           | and [Options].Targets               | knows before
//	write the subresource scale                | write spec.replicas                 | stage/memory has
//	                                           |                                     | no scale
//	name autoscalers of one Pod, and Pods      | name them by name                   | the order of a
//	without a request, in the order of a map   |                                     | map is random
//	count the Event of a failure each 15 s     | with annotations, not while nothing | see Usage
//	                                           | changes                             |
//	scale to zero (HPAScaleToZero is off)      | not                                 | off by default
package autoscaling
