// Command network-policies gives each new connection of the local cluster its verdict.
//
// The node's own iptables chain fills the queue (see ../network.py). The library
// also keeps nftables rules of its own, which this kernel refuses for want of a
// queue statement; each refused batch unhooks its chains again, and the kernel
// then drops every packet that waits in any queue: lookups went unanswered
// whenever pods started. So it is given a table name that no kernel takes, and
// its batches fail before they hook anything.
package main

import (
	"context"
	"flag"
	"log"
	"net/http"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/kube-network-policies/pkg/networkpolicy"
)

// Names of tables have at most 255 bytes.
const tableNameTooLong = 300

func run(ctx context.Context, node, metrics string, queue int) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	seen := informers.NewSharedInformerFactory(client, 0)
	controller, err := networkpolicy.NewController(
		client,
		seen.Networking().V1().NetworkPolicies(),
		seen.Core().V1().Namespaces(),
		seen.Core().V1().Pods(),
		nil, nil, nil, nil,
		networkpolicy.Config{
			QueueID:  queue,
			NodeName: node,
			// NRI stays enabled, though the runtime has none: disabled, an address
			// of no pod is looked up in a missing table.
			NFTableName: strings.Repeat("x", tableNameTooLong),
		},
	)
	if err != nil {
		return err
	}
	http.Handle("/metrics", promhttp.Handler())
	server := &http.Server{Addr: metrics, ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 2)
	go func() { ended <- server.ListenAndServe() }()
	go func() { ended <- controller.Run(ctx) }()
	seen.Start(ctx.Done())
	return <-ended
}

func main() {
	node := flag.String("node", "", "name of the node whose pods are judged")
	metrics := flag.String("metrics", "127.0.0.1:9080", "address of /metrics")
	queue := flag.Int("queue", 98, "number of the netfilter queue")
	flag.Parse()
	if *node == "" {
		log.Fatal("network-policies: -node is missing: give the node's name")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, *node, *metrics, *queue); err != nil && ctx.Err() == nil {
		log.Fatalf("network-policies: %v", err)
	}
}
