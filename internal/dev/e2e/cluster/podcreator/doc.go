// Package crowd is a crowd of pods on fake nodes of a real cluster, as a load for a program that plays the kubelet: it creates them, sees them run and
// has them deleted.
//
// # Usage
//
//	c, err := podcreator.New(ctx, client, podcreator.Options{Namespace: "bench", Pods: 5000, Nodes: 10})
//	defer c.Close(ctx)
//	err = c.AddNodes(ctx)
//	err = c.Create(ctx)
//	err = c.WaitRunning(ctx)
//	fmt.Println(c.Latencies(start))
//	err = c.Delete(ctx)
//
// # Concurrency
//
// A Crowd belongs to one goroutine.
package podcreator
