// Package podcreator creates pods on fake nodes of a real cluster, as a load for a program that
// simulates the kubelet, measures when they run, and deletes them.
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
// A Creator must not be used from several goroutines at once.
package podcreator
